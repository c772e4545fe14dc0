"""The page of the command, written from the command itself: every subcommand, argument and option, with its default."""

import inspect
import re
from pathlib import Path

from torusgp.cli import load_commands

_PAGE = Path("reference/generated/command.md")


def command_page():
    """Markdown of all subcommands."""
    return "\n".join(_section(command) for command in load_commands())


def _section(command):
    """One subcommand: what it does, its examples, its arguments and its options."""
    context = command.make_context(command.name, [], resilient_parsing=True)
    prose, examples = _split_help(command.help)
    records = {"argument": [], "option": []}
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:  # hidden ones have none
            records[parameter.param_type_name].append(record)
    usage = " ".join(name.split()[0] for name, _ in records["argument"])
    parts = [f"## torusgp {command.name}\n", f"```text\ntorusgp {command.name} [OPTIONS] {usage}\n```\n", prose + "\n"]
    if examples:
        parts.append(f"```console\n{examples}\n```\n")
    parts += [_table(kind, rows) for kind, rows in records.items() if rows]
    return "\n".join(parts)


def _split_help(text):
    """Paragraphs of a help text, and its examples as a session."""
    prose, examples = [], []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines = [line.strip() for line in paragraph.replace("\b", "").strip().splitlines()]
        if lines[0].startswith("Example"):
            whole = "\n".join(lines[1:]).replace("\\\n", "\\\n    ")  # a command may go on in the next line
            examples += [line if line.startswith("    ") else f"$ {line}" for line in whole.splitlines()]
        else:
            prose.append(_plain(" ".join(lines)))
    return "\n\n".join(prose), "\n".join(examples)


def _table(title, rows):
    lines = [f"| {title} | meaning |", "|---|---|"]
    for names, text in rows:
        names = re.sub(r" <\w+>$", "", names)  # the type of an argument, which its meaning says
        code = ", ".join(f"`{name}`" for name in re.split(r", | / ", names))
        meaning, _, note = text.rstrip().removesuffix("]").rpartition("  [")  # such as [default: auto]
        meaning, note = (meaning, f" *{note}*") if meaning else (note, "")
        lines.append(f"| {code} | {_plain(meaning)}{note} |")
    return "\n".join([*lines, ""])


def _plain(text):
    """Text without what Markdown would take for marks."""
    return re.sub(r"([|*<\[\]])", r"\\\1", " ".join(text.split()))


def setup(app):
    """Write the page before Sphinx looks for pages."""
    app.connect("builder-inited", _write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _write(app):
    place = Path(app.srcdir) / _PAGE
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(command_page(), encoding="utf-8")
