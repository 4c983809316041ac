"""Results as tables: text for the console, HTML for notebooks, data frames."""
from __future__ import annotations

import html
from typing import TYPE_CHECKING, List, Optional, Sequence

import numpy as np

if TYPE_CHECKING:
    from ._inference import Assessment
    from ._objects import Model

MOST_ROWS = 60  # of a table that is shown unasked


def source_names(k: int) -> List[str]:
    return [f"z{j + 1}" for j in range(k)]


def block_of(model: Model) -> np.ndarray:
    """For each item the source that it loads on most."""
    return np.abs(model.standardised).argmax(axis=1)


def block_order(model: Model) -> np.ndarray:
    """Items by the source that they load on most, the strongest first."""
    strength = np.abs(model.standardised)
    return np.lexsort((-strength.max(axis=1), strength.argmax(axis=1)))


def uncertain(assessment: Optional[Assessment], shape) -> np.ndarray:
    """Of which loadings the interval contains 0."""
    if assessment is None:
        return np.zeros(shape, dtype=bool)
    return ~((assessment.mixing_low > 0) | (assessment.mixing_high < 0))


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side: the first to the left, numbers to the right."""
    widths = [max(len(line[j]) for line in [header, *rows]) for j in range(len(header))]
    return "\n".join("  ".join(cell.rjust(width) if j else cell.ljust(width) for j, (cell, width) in enumerate(zip(line, widths))).rstrip()
                     for line in [header, *rows])


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], styles: Optional[Sequence[Sequence[str]]] = None) -> str:
    """The same as HTML, in the colours of the page; styles holds CSS for each cell."""
    head = "".join(f"<th scope='col' style='text-align:{'right' if j else 'left'}'>{html.escape(text)}</th>" for j, text in enumerate(header))
    body = ""
    for r, row in enumerate(rows):
        cells = f"<th scope='row' style='text-align:left;font-weight:normal'>{html.escape(row[0])}</th>"
        for j, text in enumerate(row[1:], 1):
            style = styles[r][j] if styles is not None else ""
            cells += f"<td style='text-align:right;{style}'>{html.escape(text)}</td>"
        body += f"<tr>{cells}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: float, error: Optional[float]) -> str:
    return f"{value:.2f}" if error is None else f"{value:.2f} ± {error:.2f}"


def _loading_rows(model: Model, assessment: Optional[Assessment], order: np.ndarray) -> List[List[str]]:
    error = None if assessment is None else assessment.mixing_se
    return [[model.variables[i], *(_cell(a, None if error is None else error[i, j]) for j, a in enumerate(model.mixing[i])),
             f"{model.communalities[i]:.2f}"] for i in order]


def _header(model: Model) -> List[str]:
    return ["item", *source_names(model.mixing.shape[1]), "communality"]


def _left_out(model: Model) -> str:
    more = len(model.variables) - MOST_ROWS
    return f"and {more} items more: to_frame() has all" if more > 0 else ""


def loadings_text(model: Model, assessment: Optional[Assessment] = None) -> str:
    """Items in blocks by source, with their loadings."""
    order = block_order(model)[:MOST_ROWS]
    lines = text_table(_header(model), _loading_rows(model, assessment, order))
    if model.labels is not None:
        lines = "\n".join(f"{line}  {label}".rstrip() for line, label in zip(lines.split("\n"), ["", *(model.labels[i] for i in order)]))
    return lines + (f"\n{_left_out(model)}" if _left_out(model) else "")


def loadings_html(model: Model, assessment: Optional[Assessment] = None) -> str:
    """The same as HTML: the stronger a loading the darker its cell, grey where its interval contains 0."""
    order, own, faded = block_order(model)[:MOST_ROWS], block_of(model), uncertain(assessment, model.mixing.shape)

    def style(i: int, j: int) -> str:
        strength, rgb = abs(model.standardised[i, j]), "178,24,43" if model.mixing[i, j] > 0 else "33,102,172"
        text = "opacity:.5" if faded[i, j] else f"background:rgba({rgb},{0.45 * strength:.2f})"
        return text + (";font-weight:bold" if j == own[i] and not faded[i, j] else "")

    styles = [["", *(style(i, j) for j in range(model.mixing.shape[1])), "opacity:.7"] for i in order]
    rows, more = _loading_rows(model, assessment, order), _left_out(model)
    if model.labels is not None:
        rows = [[f"{row[0]} · {model.labels[i]}" if model.labels[i] else row[0], *row[1:]] for i, row in zip(order, rows)]
    return html_table(_header(model), rows, styles) + (f"<p>{more}</p>" if more else "")


def model_html(model: Model, assessment: Optional[Assessment] = None) -> str:
    """What a notebook shows of a model: its size, how far it can be trusted as far as known, and its loadings."""
    said = ("".join(f"<li>{html.escape(sentence)}</li>" for sentence in assessment.verdict) if assessment is not None else
            "<li>blica.assess says how far this can be trusted.</li>")
    return f"<p><b>{html.escape(repr(model)[1:-1])}</b></p><ul>{said}</ul>{loadings_html(model, assessment)}"


_WHAT = {"mixing": ("loading", "variable", "source"), "variances": ("variance", "segment", "source"),
         "means": ("mean", "segment", "source")}


def frame(model: Model, what: str, bounds: Optional[dict] = None):
    """A pandas DataFrame with a row for each number of a part of the model; bounds has its errors and intervals."""
    import pandas

    if what not in _WHAT:
        raise ValueError(f"what is {what!r}; give one of {', '.join(_WHAT)}")
    value, row, _ = _WHAT[what]
    numbers = getattr(model, what)
    rows, columns = model.variables if row == "variable" else model.segments, source_names(numbers.shape[1])
    r, c = (part.T.ravel() for part in np.indices(numbers.shape))  # by source
    result = {row: pandas.Categorical.from_codes(r, rows, ordered=False), "source": pandas.Categorical.from_codes(c, columns),
              value: numbers.T.ravel()}
    if what == "mixing":
        result["standardised"] = model.standardised.T.ravel()
    for name, part in (bounds or {}).items():
        if part is not None:
            result[name] = np.asarray(part).T.ravel()
    return pandas.DataFrame(result)
