"""What the README and the documents show runs."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from cli.runner import invoke
from documentation import PAGES, ROOT, boxes, boxes_of
from dpcov import Columns, local
from dpcov.cli.app import COMMANDS as REGISTERED
from dpcov.cli.app import app
from dpcov.cli.on_demand import load

EXAMPLES = [pytest.param(text, id=name) for name, text in boxes("python")]
COMMANDS = sorted(
    {
        line.split("  #")[0].strip()
        for _, box in boxes("")
        for line in box.replace("\\\n", " ").splitlines()
        if line.startswith("dpcov ")
    }
)


def run(block):
    """Run an example of Python, and return the names that it leaves."""
    names: dict[str, object] = {}
    exec(compile(block, "example", "exec"), names)  # noqa: S102
    return names


def test_the_readme_has_examples():
    assert len(EXAMPLES) >= 2


def test_no_example_of_python_stands_in_a_box_that_is_not_run():
    opened = r"^```(?!python$)(py\S*|\{code\S*)"
    assert not [page.name for page in PAGES if re.search(opened, page.read_text("utf-8"), re.M)]


@pytest.mark.parametrize("block", EXAMPLES)
def test_an_example_of_the_readme_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run(block)
    assert names.keys() & {"audit", "dpcov", "local", "paper", "privacy"}, (
        "an example uses the library"
    )


def test_the_documents_have_commands():
    assert len(COMMANDS) >= 20


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_documents_has_the_options_that_are_shown(line):
    words = shlex.split(line.split(" > ")[0])[1:]
    command = typer.main.get_command(app)
    if words and words[0] in REGISTERED:
        command = load(words[0], REGISTERED[words.pop(0)])
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    assert not getattr(command, "commands", None) or not words or words[0].startswith("-"), line
    options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    shown = {word.split("=")[0] for word in words if word.startswith("--")} - {"--help"}
    assert shown <= options | {"--version"}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in boxes("toml")])
def test_a_file_of_the_documents_is_taken(text, tmp_path):
    path = tmp_path / "shown.toml"
    path.write_text(text, encoding="utf-8")
    read = local.Study.load if "[[questions]]" in text else Columns.load
    assert read(path) is not None


def test_the_tutorial_runs_from_top_to_bottom_in_one_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for language, text in boxes_of(ROOT / "docs" / "tutorial.md"):
        if language == "python":
            run(text)
        elif language == "toml":
            Path("columns.toml").write_text(text, encoding="utf-8")
        else:
            for line in text.replace("\\\n", " ").splitlines():
                command, _, file = line.partition(" > ")
                result = invoke(shlex.split(command)[1:])
                assert result.exit_code == 0, f"{line}\n{result.stderr}"
                if file:
                    Path(file).write_text(result.stdout, encoding="utf-8")
