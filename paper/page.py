"""The Markdown page: every experiment's figures and numbers beside the paper's, from the saved records."""

from paper.common import markdown_table, read_record


def write(folder, experiments):
    """Write ``README.md`` from the records in a folder; returns its path."""
    parts = ["# Index Set Fourier Series Features, reproduced\n"]
    parts.append(
        "Every number and figure of Tompkins and Ramos, *Index Set Fourier Series Features for Approximating "
        "Multi-dimensional Periodic Kernels* (2018), that its text lets one reproduce, made by `make paper`. The "
        "numbers behind each figure are in the JSON file of the same experiment.\n"
    )
    records = {name: read_record(folder, name) for name in experiments}
    lines = []
    for name, record in records.items():
        if record is None:
            lines.append([name, experiments[name].TITLE, "not run", "", ""])
            continue
        size = "small" if record["quick"] else "full"
        numbers = (f"{record[key]:.0f}" for key in ("seconds", "cpu_seconds", "peak_mebibytes"))
        lines.append([f"[{name}](#{name})", f"{record['title']} ({size})", *numbers])
    parts.append(
        markdown_table(["experiment", "what", "seconds", "of processor time", "peak MiB, all processes"], lines) + "\n"
    )
    for name in ("claims", *(one for one in experiments if one != "claims")):
        record = records[name]
        if record is None:
            reason = experiments[name].missing(folder)
            parts.append(f"## {name}\n\nNot run{': ' + reason if reason else ''}.\n")
            continue
        warning = "Made in small (`--quick`): only to see that it works.\n\n" if record["quick"] else ""
        try:
            text = experiments[name].describe(record)
        except (KeyError, IndexError, TypeError) as error:
            text = f"The saved numbers are those of another version ({error!r}): run `python -m paper {name}` again."
        parts.append(f"## {name}\n\n{record['title']}.\n\n{warning}{text}\n")
    path = folder / "README.md"
    path.write_text("\n".join(parts))
    return path
