"""One self-contained HTML file for a run, or for a comparison of two, with every trajectory in it.

| module | what it holds |
|---|---|
| `page` | `render_html`, `write_html`: content, style and code, under a policy that lets nothing else run |
| `document` | what the page shows before a trial is opened: figures, plots, comparisons, matrix, list of trials |
| `packing` | which trials' details the page has room for, each compressed by itself |
| `detail`, `timeline` | one trial: checks, and ACP events joined with model exchanges on one clock |
| `assets/` | the page itself: plain HTML, CSS and JavaScript |

Figures come from the profile, so that they are those of every other format.
"""

from benchflow.report.html.page import render_html, write_html

__all__ = ["render_html", "write_html"]
