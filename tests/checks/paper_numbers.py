#!/usr/bin/env python3
"""paper_numbers.py ROOT [PAPER]: the experiments' figures are the paper's.

Every figure under "paper" in experiments/*.json is printed in the right row and column of the right
table of PAPER (LaTeX; default: $HASTINGS_PAPER, else ROOT/../shared/paper.tex), every figure of those
tables is in the experiments, and the proposals of the logistic regressions have the sizes that it says.
Then every figure is changed by one digit in turn, and it is seen that this would have been noticed.

Exits with 77 (skipped) if there is no such paper.
"""
import json
import os
import re
import sys

FIGURE = re.compile(r"<?\d[\d.]*(?:\(\d+\))?(?:e-?\d+)?(?:-\d+e-\d+)?")
COLUMNS = ["acceptance", "msjd", "ess_per_proposal", "gradients_per_second"]
ROWS = ["Ab Initio", "MSJD", "L2HMC", "GSM-90", "GSM-60", "GSM-30", "HMC", "I.I.D."]
DIMENSIONS = [100, 1000, 10000]
DATA = {"german": "German", "australian": "Australian", "heart": "Heart", "pima": "Pima", "ripley": "Ripley"}
mistakes = []


def complain(text):
    mistakes.append(text)


class Table:
    """The cells of the table with that label, and which of its figures have been asked for."""

    def __init__(self, paper, label):
        self.label = label
        at = paper.index("\\label{%s}" % label)
        text = paper[paper.rindex("\\begin{table}", 0, at):paper.index("\\end{table}", at)]
        text = text[text.index("\\toprule"):text.index("\\bottomrule")]
        # Cells of several lines are headings; footnotes and braces stand beside figures.
        text = re.sub(r"\\begin\{tabular\}.*?\\end\{tabular\}", "", text, flags=re.S)
        text = re.sub(r"\\tablefootnote\{(?:[^{}]|\{[^{}]*\})*\}|\$\^\{\d+\}\$", "", text)
        text = re.sub(r"\\rdelim\\\}\{3\}\{1mm\}|\\ref\{[^}]*\}", "", text)
        text = re.sub(r"\\multirow\{\d\}\{\*\}\{([^{}]*)\}|\\textbf\{([^}]*)\}|\\multicolumn\{1\}\{c\}\{(--)\}",
                      lambda m: next(g for g in m.groups() if g is not None), text)
        self.rows = [[cell.strip() for cell in line.split("&")] for line in text.split("\\\\")]
        self.rows = [row for row in self.rows if len(row) > 1]
        self.left = {(i, j) for i, row in enumerate(self.rows) for j, cell in enumerate(row)
                     if j and FIGURE.fullmatch(cell)}

    def find(self, start):
        """The number of the row that begins so."""
        found = [i for i, row in enumerate(self.rows) if row[0].startswith(start)]
        if len(found) != 1:
            sys.exit("%s: %d rows begin with %s" % (self.label, len(found), start))
        return found[0]

    def take(self, i, j):
        """A figure; None where there is none."""
        cell = self.rows[i][j] if j < len(self.rows[i]) else ""
        self.left.discard((i, j))
        return cell if FIGURE.fullmatch(cell) else None

    def done(self):
        for i, j in sorted(self.left):
            complain("%s: %s in row \"%s\" was not looked at" % (self.label, self.rows[i][j], self.rows[i][0]))


class Paper:
    """What the paper prints, by experiment, row, case and column; all of them, if several times."""

    def __init__(self, text):
        self.text = text
        self.printed = {}
        self.again = {}  # the columns "analytic simulated" of the appendix, in order

    def add(self, experiment, row, case, column, figure):
        if figure is not None:
            self.printed.setdefault((experiment, row, case, column), []).append(figure)

    def read_comparison(self, label, places, columns=COLUMNS):
        """Rows of objectives. A place is an experiment, a case, and the number of its first column."""
        table = Table(self.text, label)
        for row in ROWS:
            if not any(line[0].startswith(row) for line in table.rows):
                continue
            i = table.find(row)
            for experiment, case, first in places:
                for k, column in enumerate(columns):
                    figure = table.take(i, first + k)
                    if column == "gradients_per_second" and row.startswith("GSM"):
                        figure = table.take(table.find("GSM-60"), first + k)  # one brace for all three
                    self.add(experiment, row, case, column, figure)
                    if column == "gradients_per_second" and row in ("Ab Initio", "MSJD", "L2HMC", "GSM-60"):
                        self.add("cost", row.replace("-60", ""), case, column, figure)
        table.done()

    def read_cost(self, label, cases):
        table = Table(self.text, label)
        for start, case, experiment in cases:
            for k, rows in enumerate((["Ab Initio"], ["MSJD"], ["L2HMC"], ["GSM-90", "GSM-60", "GSM-30"])):
                figure = table.take(table.find(start), 1 + k)
                self.add("cost", rows[0].split("-")[0], case, "gradients_per_second", figure)
                for row in rows:
                    self.add(experiment, row, case, "gradients_per_second", figure)
        table.done()

    def read_verification(self, label, row, first=False, repeats=False):
        table = Table(self.text, label)
        for i, line in enumerate(table.rows):
            if len(line) < 9 or line[2] != "Acc. Rate":
                continue
            name = line[0] + {"Gaussian": {"RWM": " walk", "MALA": " MALA"}.get(line[1], "")}.get(line[0], "")
            exact = table.take(i, 10)
            analytic = "Analytic " + exact
            for k, d in enumerate(DIMENSIONS):
                case = "%s d=%d" % (name, d)
                for j, column in ((i, "acceptance"), (i + 1, "msjd")):
                    figure = table.take(j, 3 + 2 * k)
                    by_curve = row == "MSJD" and name == "Uniform"
                    self.add("verify", "MSJD by curve" if by_curve else row, case, column, figure)
                    if row.startswith("Ab Initio") and name == "Uniform":
                        self.add("verify", row, case + " pulled", column, figure)
                    figure = table.take(j, 4 + 2 * k)
                    again = self.again.setdefault((analytic, case), {"acceptance": [], "msjd": []})
                    if first:
                        self.add("verify", analytic, case, column, figure)
                    elif repeats:  # the same replications as in the table of MSJD
                        if figure != again[column][0]:
                            complain("%s: %s is not %s" % (label, figure, again[column][0]))
                    elif figure:
                        again[column].append(figure)
        table.done()

    def read_schemes(self, label):
        table = Table(self.text, label)
        rows = ["MALA by Ab Initio", "MALA by MSJD", "Random walk by Ab Initio", "Multi-scheme by Ab Initio",
                "Resampling flow by NLL"]
        lines = [i for i, line in enumerate(table.rows) if (i, 2) in table.left]
        for row, i in zip(rows, lines, strict=True):
            case = "networks" if row[:5] in ("Multi", "Resam") else "steps"
            for k, column in enumerate(["acceptance", "msjd", "ess_per_proposal", "loss", "samples_per_second"]):
                self.add("mnist", row, case, column, table.take(i, 2 + k))
        table.done()

    def read_coefficient(self, label, case):
        at = self.text.index("\\label{%s}" % label)
        self.add("fit", "Fit", case, "coefficient", re.compile(r"- ([\d.]+)\\,d").search(self.text, at).group(1))

    def read_sizes(self, label):
        """By data set: auxiliary variables, weights, width, depth and couplings."""
        table = Table(self.text, label)
        sizes = {}
        for name in DATA:
            i = table.find(DATA[name])
            a, d, *others = [table.take(i, j) for j in (1, 2, 3, 4, 6, 7, 9, 10, 11)]
            if others[:2] * 3 != others[:6]:
                complain("%s: networks of several sizes" % label)
            sizes[name] = (a, d, *others[:2], others[6])
        table.done()
        return sizes

    def read(self):
        self.read_verification("tab:main_verification", "Ab Initio", first=True)
        self.read_verification("tab:msjd_ver", "MSJD")
        self.read_verification("tab:l2hmc_ver", "L2HMC")
        for acceptance in 30, 60, 90:
            self.read_verification("tab:gsm%d_ver" % acceptance, "GSM-%d" % acceptance)
        self.read_verification("tab:mala_reference", "Ab Initio A=0.25324", repeats=True)
        self.read_verification("tab:balanced_reference", "Ab Initio A=0.21510", repeats=True)
        self.read_coefficient("eq:ab_initio", "random walk")
        self.read_coefficient("eq:mala_ref", "MALA")
        self.read_coefficient("eq:balanced_ref", "both")
        self.read_comparison("tab:constrained_cross_results", [("cross", "L=8", 1), ("cross", "L=3", 5)], COLUMNS[:3])
        self.read_cost("tab:ms_cost", [("L=8", "L=8", "cross"), ("L=3", "L=3", "cross")])
        self.read_comparison("tab:cross_results", [("mixture", "mixture", 1)])
        for name in DATA:
            self.read_comparison("tab:lr_" + name, [(name, DATA[name], 1)])
        self.read_comparison("tab:lr_results", [("german", "German", 1), ("heart", "Heart", 5)], COLUMNS[:3])
        self.read_cost("tab:lr_cost", [("German", "German", "german"), ("Heart", "Heart", "heart")])
        self.read_comparison("tab:adaptation_results", [("online", "German", 1), ("online", "Heart", 5)], COLUMNS[:3])
        self.read_schemes("tab:scheme_select")


def figures_of(experiments):
    return {(name, row["name"], case, column): figure
            for name, e in experiments.items() for row in e["rows"]
            for case, figures in row.get("paper", {}).items() for column, figure in figures.items()}


def notes_of(experiment, row, case):
    return [FIGURE.findall(note["text"]) for note in experiment.get("notes", [])
            if note.get("row") == row and note.get("case", case) == case]


def compare(figures, notes, paper):
    """Mistakes as sentences. `notes`: by experiment, row and case, the figures in each of the notes."""
    found = []
    for key, figure in figures.items():
        if figure not in paper.printed.get(key, []):
            found.append("%s: %s, but the paper has %s" % (", ".join(key), figure, paper.printed.get(key)))
    for key, printed in paper.printed.items():
        for figure in printed:
            # What is printed twice, and differently, is told in a note.
            if figure != figures.get(key) and not any(
                    figure in note and figures.get(key) in note for note in notes.get(key[:3], [])):
                found.append("%s: the paper's %s is missing" % (", ".join(key), figure))
    for (row, case), again in paper.again.items():
        told = notes.get(("verify", row, case), [[]])[-1]
        if told != again["acceptance"] + again["msjd"]:
            found.append("verify, %s, %s: the note has %s, the appendix %s" % (row, case, told, again))
    return found


def options_of(text):
    return dict(option.partition("=")[::2] for option in text.split(",")[1:])


def check_texts(experiments, sizes):
    """What the paper says in numbers beside its figures: coefficients, acceptances, sizes of networks."""
    for row in experiments["verify"]["rows"]:
        kind, _, number = row["name"].partition(" A=")
        if number and float(row["objective"].partition(":")[2]) != float(number):
            complain("verify, %s: the objective is %s" % (row["name"], row["objective"]))
        if kind.startswith("Analytic ") and row["sampler"] != "accept:" + kind.split()[1]:
            complain("verify, %s: the sampler is %s" % (row["name"], row["sampler"]))
    for name, e in experiments.items():
        for case in e["cases"]:
            target, proposal = options_of(case["target"]), options_of(case["proposal"])
            if not case["target"].startswith("logistic"):
                continue
            a, _, *networks = sizes[target["data"]]
            if target["augment"] != a or [proposal[k] for k in ("width", "depth", "couplings")] != networks:
                complain("%s, %s: the paper's sizes are %s" % (name, case["name"], sizes[target["data"]]))


def check_sharpness(figures, notes, paper):
    """One digit that is changed is one mistake at least; so is a figure that is left out."""
    for key, figure in figures.items():
        at = max(i for i, c in enumerate(figure) if c.isdigit())
        changed = next(f for f in (figure[:at] + digit + figure[at + 1:] for digit in "0123456789")
                       if f not in paper.printed[key])
        without = {k: f for k, f in figures.items() if k != key}
        if not compare({**figures, key: changed}, notes, paper) or not compare(without, notes, paper):
            complain("%s: nobody would notice if %s were %s, or left out" % (", ".join(key), figure, changed))


def main():
    root = sys.argv[1]
    path = sys.argv[2] if len(sys.argv) > 2 else os.environ.get(
        "HASTINGS_PAPER", os.path.join(root, "..", "shared", "paper.tex"))
    if not os.path.exists(path):
        print("skipped: there is no paper at %s" % path)
        sys.exit(77)
    with open(path, encoding="utf-8") as file:
        paper = Paper(file.read())
    paper.read()
    experiments = {}
    folder = os.path.join(root, "experiments")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                experiments[name[:-5]] = json.load(file)
            if experiments[name[:-5]]["name"] != name[:-5]:
                complain("%s: its name is %s" % (name, experiments[name[:-5]]["name"]))
    figures = figures_of(experiments)
    notes = {key[:3]: notes_of(experiments[key[0]], key[1], key[2]) for key in paper.printed if key[0] in experiments}
    mistakes.extend(compare(figures, notes, paper))
    check_texts(experiments, paper.read_sizes("tab:lr_spec"))
    if not mistakes:
        check_sharpness(figures, notes, paper)
    print("\n".join(mistakes) if mistakes else "%d figures are the paper's" % len(figures))
    sys.exit(bool(mistakes))


main()
