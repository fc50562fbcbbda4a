"""``dpcov collect serve | status | close | release | export | merge | simulate``.

Owns the commands. They work on the database of a collection, whether a server is running or not.
"""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from dpcov.cli.collect_ledger import tell_ledger
from dpcov.cli.collect_text import describe_serving, describe_state
from dpcov.cli.collect_upload import send_all
from dpcov.cli.local import read_plan
from dpcov.cli.options import (
    Curator,
    Date,
    Description,
    Fdr,
    Force,
    Json,
    LedgerAccounts,
    LedgerAddress,
    Name,
    Out,
    Quiet,
)
from dpcov.cli.publishing import Output, publish
from dpcov.cli.report_files import write_reports
from dpcov.cli.stopping import stoppable_until
from dpcov.cli.terminal import afterwards, guarded, print_json, tell
from dpcov.collect.collection import Collection
from dpcov.collect.store import DATABASE_VARIABLE, is_postgresql
from dpcov.errors import MissingExtraError, ParameterError
from dpcov.local.plan import CollectionPlan
from dpcov.progress import show_progress
from dpcov.publication.folder import Identity
from dpcov.releases import Release

__all__ = ["collect"]

collect = typer.Typer(
    help="Collect reports of the local model: a server, its page, and what comes of it.",
    no_args_is_help=True,
)
_EXISTS = "State another name, or --force to replace a file of reports for this plan."
_TOKEN = "DPCOV_COLLECT_TOKEN"  # noqa: S105 - the name of a variable

PlanArgument = Annotated[
    Path, typer.Argument(help="The collection plan, as dpcov local plan wrote it.")
]
Database = Annotated[
    str,
    typer.Option(
        "--database",
        envvar=DATABASE_VARIABLE,
        help="The collection: a folder, or postgresql://…",
    ),
]


@collect.command()
def serve(
    plan: PlanArgument,
    database: Database = "collection",
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen.")] = 8000,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes; more than one need PostgreSQL.")
    ] = 1,
    public_url: Annotated[
        str | None, typer.Option(help="Where people find the page: https://…")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(help="The address of a proxy whose X-Forwarded-For is believed."),
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0.0, help="Reports a second from one address; 0 is no limit.")
    ] = 10.0,
    burst: Annotated[int, typer.Option(min=1, help="… and at once.")] = 1000,
    largest_upload: Annotated[
        int, typer.Option(min=50, max=1 << 30, help="Bytes of one request.")
    ] = 8 << 20,
    token_file: Annotated[
        Path | None,
        typer.Option(help=f"A file with the token for administration; or set {_TOKEN}."),
    ] = None,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Take made-up reports, and none but them.")
    ] = False,
    ledger: LedgerAddress = None,
    account: LedgerAccounts = None,
    quiet: Quiet = False,
) -> None:
    """Serve a plan and the page on which people answer; keep their reports.

    Example: dpcov collect serve plan.json
    """
    with guarded():
        made = read_plan(plan)
        if workers > 1 and not is_postgresql(database):
            raise ParameterError(
                "Several workers need a database that they share: --database postgresql://…"
            )
        if public_url is not None and not public_url.startswith("https://"):
            raise ParameterError("public_url must begin with https://: browsers ask for it.")
        try:
            from dpcov.collect.service.server import serve as listen
            from dpcov.collect.service.settings import Settings
        except ModuleNotFoundError:
            raise MissingExtraError(
                "A server needs starlette, uvicorn and prometheus-client: "
                "pip install 'dpcov[server]'"
            ) from None
        settings = Settings(
            database=database,
            token=_token(token_file),
            rate=rate,
            burst=burst,
            largest_upload=largest_upload,
        )
        _check_port(host, port)
        _tell(ledger, account, made, simulated=simulated, made=False)
        with Collection.create_or_open(database, made, simulated=simulated) as collection:
            state = collection.state
            if not quiet:
                where = public_url or f"http://{host}:{port}/"
                typer.echo(describe_serving(collection, state, where), err=True)
        listen(settings, host=host, port=port, workers=workers, trusted_proxies=trusted_proxy or ())


@collect.command()
def status(database: Database = "collection", as_json: Json = False) -> None:
    """Say how many reports there are, and whether the collection is closed.

    Example: dpcov collect status
    """
    with guarded(), Collection.open(database) as collection:
        state = collection.state
        facts = {
            "collection": collection.name,
            "plan": collection.plan.id,
            "open": not state.closed,
            "reports": state.reports,
            "minimum": collection.minimum,
            "simulated": collection.simulated,
        }
        if as_json:
            print_json(facts)
        else:
            typer.echo(describe_state(collection, state))


@collect.command()
def close(
    database: Database = "collection",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """End a collection: no report is taken any more. It is final.

    Example: dpcov collect close --yes
    """
    with guarded("Nothing was closed."), Collection.open(database) as collection:
        state = collection.state
        if state.closed:
            typer.echo(f"{collection.name} is closed already, with {state.reports:,} reports.")
            return
        if state.reports < collection.minimum:
            tell(
                f"warning: there are {state.reports:,} reports, and the plan allows a release of "
                f"{collection.minimum:,} or more. Closed like this it can never be released."
            )
        if not (yes or typer.confirm(f"Close {collection.name}? No report is taken any more.")):
            raise ParameterError("It stays open.")
        collection.close()
        typer.echo(f"{collection.name} is closed, with {collection.state.reports:,} reports.")


@collect.command()
def release(
    out: Out,
    database: Database = "collection",
    interim: Annotated[
        bool, typer.Option("--interim", help="Also of a collection that is still open.")
    ] = False,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Believe no sums that were kept.")
    ] = False,
    name: Name = "",
    curator: Curator = "",
    description: Description = "",
    date: Date = None,
    fdr: Fdr = 0.1,
    ledger: LedgerAddress = None,
    account: LedgerAccounts = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add up all reports, and write the folder of their release. Costs no more privacy.

    Example: dpcov collect release --out survey/
    """

    def make() -> Release:
        return collection.release(interim=interim, recompute=recompute)

    with guarded(), Collection.open(database) as collection:
        _tell(ledger, account, collection.plan, simulated=collection.simulated, made=True)
        study = collection.plan.study
        title = name or (study.title if study is not None else "")
        output = Output(
            out=out,
            identity=Identity(title, curator, description, date),
            sources=[] if is_postgresql(database) else [Path(database)],
            fdr=fdr,
            force=force,
            as_json=as_json,
            quiet=quiet,
        )
        publish(make, output, spends=False)


@collect.command()
def export(
    out: Annotated[Path, typer.Option(help="The file of reports to write.")],
    database: Database = "collection",
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file of reports for this plan.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Write all reports as they came, one after the other in the order of their ids.

    The SHA-256 of the file is the digest on the card of a release. dpcov local collect reads it.

    Example: dpcov collect export --out reports.bin
    """
    with guarded("Nothing was written."), Collection.open(database) as collection:
        count = 0
        with (
            show_progress(None) as bar,
            write_reports(out, collection.plan, force=force, exists=_EXISTS) as new,
        ):
            stoppable_until(lambda: new.complete)
            total = collection.state.reports
            for table in collection.reports():
                new.file.write(table.tobytes())
                count += len(table)
                if bar is not None:
                    bar("writing reports", count, total)
        if not quiet:
            with afterwards(f"{out} is complete"):
                typer.echo(f"{count:,} reports of {collection.plan.report_bytes} bytes: {out}")


@collect.command()
def merge(
    sources: Annotated[
        list[str], typer.Argument(help="Collections of one plan: folders, or postgresql://…")
    ],
    into: Annotated[str, typer.Option(help="The new collection: a folder, or postgresql://…")],
    quiet: Quiet = False,
) -> None:
    """Make one collection of several; a report that two of them have counts once.

    Example: dpcov collect merge berlin/ paris/ --into all/
    """
    from dpcov.collect.merging import merge_collections

    with guarded("The new collection may be incomplete: remove it, and merge again."):
        with ExitStack() as stack, show_progress(None) as bar:
            opened = [stack.enter_context(Collection.open(source)) for source in sources]
            made = stack.enter_context(merge_collections(opened, into, tell=bar))
            said = describe_state(made, made.state)
        if not quiet:
            typer.echo(said)


@collect.command()
def simulate(
    plan: PlanArgument,
    people: Annotated[int, typer.Option(min=1, max=100_000_000, help="How many people.")],
    database: Annotated[
        str | None, typer.Option("--database", help="The new collection of made-up reports.")
    ] = None,
    correlation: Annotated[
        float, typer.Option(min=-1.0, max=1.0, help="Between the first two questions.")
    ] = 0.5,
    seed: Annotated[int, typer.Option(min=0, help="Makes it repeatable.")] = 1,
    url: Annotated[
        str | None,
        typer.Option(help="A server that was started with --simulated, instead of --database."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Make up people who answer, to see what a study of so many would show.

    Their reports are marked, promise nothing, and no real collection takes them.

    Example: dpcov collect simulate plan.json --people 100000 --database pilot/
    """
    from dpcov.collect.simulation import simulate_people

    with guarded():
        made = read_plan(plan)
        if (database is None) == (url is None):
            raise ParameterError("State either --database or --url.")
        tables = simulate_people(made, people, correlation=correlation, seed=seed)
        with show_progress(False if quiet else None) as bar:
            if url is not None:
                send_all(url, tables, people, bar)
                return
            with Collection.create(str(database), made, simulated=True) as collection:
                for table in tables:
                    collection.add_many(table)
                    if bar is not None:
                        bar("making reports", collection.state.reports, people)
                said = describe_state(collection, collection.state)
        if not quiet:
            typer.echo(said)


def _tell(
    ledger: str | None,
    accounts: list[str] | None,
    plan: CollectionPlan,
    *,
    simulated: bool,
    made: bool,
) -> None:
    """Tell a ledger of the collection, if one is stated."""
    if ledger is None:
        if accounts:
            raise typer.BadParameter("--account is for a --ledger.")
        return
    if simulated:
        raise ParameterError("Made-up reports cost nobody anything: no ledger is told of them.")
    if (line := tell_ledger(ledger, accounts, plan, made=made)) is not None:
        tell(f"entered into the ledger: {plan.promise}, line {line}")


def _check_port(host: str, port: int) -> None:
    """Refuse an address that somebody listens at, before anything is made."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(kind) as probe:
            if os.name != "nt":  # where it would mean: also if somebody listens
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        raise ParameterError(
            f"Nobody can listen at {host}, port {port}: {error.strerror}. State another --port."
        ) from None


def _token(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(_TOKEN) or None
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"The token cannot be read from {str(file)!r}.") from None
