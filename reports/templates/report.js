"use strict";
// What a reader can do with a page beside reading it. Without this script the page is whole, and
// the controls below are hidden. Nothing is stored, and nothing is asked of any network.

const byId = (id) => document.getElementById(id);

// The theme: the system's until the reader asks for the other one.

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
}

function offerThemes(button) {
  const name = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    for (const source of document.querySelectorAll("picture > source")) {
      source.media = isDark() ? "screen" : "not all"; // paper is light in any theme
    }
    name();
  });
  system.addEventListener("change", name);
  name();
  button.hidden = false;
}

// Figures: the picture that the page holds is the file.

function offerPictures() {
  for (const link of document.querySelectorAll("a[data-svg]")) {
    link.href = link.closest("figure").querySelector("img").src;
    link.hidden = false;
  }
}

// Boxes that are wider than their place: a shade at each side that hides something.

function offerShades(box) {
  const shade = () => {
    const hidden = box.scrollWidth - box.clientWidth;
    box.classList.toggle("more-before", box.scrollLeft > 1);
    box.classList.toggle("more-after", box.scrollLeft < hidden - 1);
  };
  box.addEventListener("scroll", shade, { passive: true });
  const sizes = new ResizeObserver(shade);
  for (const sized of [box, ...box.children]) sizes.observe(sized);
}

// Tables as text. `grid` is a list of rows of {text, value, numeric}; its first row are the headings.

// As in tables/*.csv: what a spreadsheet would run gets an apostrophe; a number only looks like it.
const RUNS = /^(\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r'])/;
const PLAIN_NUMBER = /^([+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|nan))$/i;

function asCsv(grid) {
  const written = ({ text, value }) => {
    if (value !== undefined) return value;
    const safe = RUNS.test(text) && !PLAIN_NUMBER.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return grid.map((row) => row.map(written).join(",") + "\n").join("");
}

function asMarkdown(grid) {
  const safe = ({ text }) => text.replace(/[\\`*_[\]<>#|~&!$@]/g, "\\$&");
  const line = (cells) => `| ${cells.join(" | ")} |\n`;
  const [heads, ...rows] = grid;
  const rule = line(heads.map((head) => (head.numeric ? "---:" : "---")));
  return line(heads.map(safe)) + rule + rows.map((row) => line(row.map(safe))).join("");
}

const LATEX = {
  "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
  "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", "\u00a0": "~",
  "−": "$-$", "·": "$\\cdot$", "×": "$\\times$", "∞": "$\\infty$", "—": "---",
};
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function asLatex(grid) {
  const power = (digits) =>
    `$^{${[...digits].map((digit) => (digit === "⁻" ? "-" : RAISED.indexOf(digit))).join("")}}$`;
  const safe = ({ text }) => text
    .replace(/[\\~^<>|\u00a0−·×∞—{}$&#%_]/g, (found) => LATEX[found] ?? `\\${found}`)
    .replace(/[⁻⁰¹²³⁴-⁹]+/g, power);
  const line = (row) => `${row.map(safe).join(" & ")} \\\\\n`;
  const [heads, ...rows] = grid;
  const places = heads.map((head) => (head.numeric ? "r" : "l")).join("");
  return `% Needs \\usepackage{booktabs}.\n\\begin{tabular}{${places}}\n\\toprule\n${line(heads)}` +
    `\\midrule\n${rows.map(line).join("")}\\bottomrule\n\\end{tabular}\n`;
}

const FORMATS = { csv: asCsv, markdown: asMarkdown, latex: asLatex };
const NAMES = { csv: "CSV", markdown: "Markdown", latex: "LaTeX" };

// The table of cells.

class Cells {
  constructor(table) {
    this.table = table;
    this.body = table.tBodies[0];
    this.heads = [...table.tHead.rows[0].cells];
    this.rows = [...this.body.rows]; // in the grid's order, the baseline first
    this.names = this.heads.map((head) => head.textContent);
    this.haystacks = new Map(this.rows.map((row) => [row, this.haystack(row)]));
    this.sorted = { column: -1, down: false };
    this.boxes = [];
  }

  isName(column) { return this.heads[column].dataset.role === "name"; }

  // What a word is looked for in: names and levels, and why there is no value.
  haystack(row) {
    return [...row.cells].map((cell, column) => {
      if (this.isName(column)) return `${this.names[column]}=${cell.textContent}`;
      return cell.dataset.v === undefined ? cell.textContent : "";
    }).join("\n").toLowerCase();
  }

  offer() {
    this.heads.forEach((head, column) => this.offerSorting(head, column));
    byId("cells-columns").append(...this.heads.map((_, column) => this.box(column)));
    byId("cells-filter").addEventListener("input", () => this.filter());
    const changes = byId("cells-changes");
    changes.addEventListener("change", () => {
      this.heads.forEach((head, column) => {
        if (head.dataset.role === "change") this.show(column, changes.checked);
      });
    });
    for (const button of document.querySelectorAll("[data-copy]")) {
      button.addEventListener("click", () => this.copy(button.dataset.copy));
    }
    byId("cells-save").addEventListener("click", () => this.save());
    document.querySelector(".controls").hidden = false;
  }

  offerSorting(head, column) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.ariaSort = "none";
    button.addEventListener("click", () => this.sort(column));
  }

  // Up, down, and back to the grid's order. The baseline stays first, what has no value is last.
  sort(column) {
    const again = this.sorted.column === column;
    if (again && this.sorted.down) this.sorted = { column: -1, down: false };
    else this.sorted = { column, down: again };
    const { column: by, down } = this.sorted;
    this.heads.forEach((head, place) => {
      head.ariaSort = place !== by ? "none" : down ? "descending" : "ascending";
    });
    const isBase = (row) => row.classList.contains("base");
    const others = this.rows.filter((row) => !isBase(row));
    if (by >= 0) others.sort((first, second) => this.compare(first.cells[by], second.cells[by]));
    this.body.append(...this.rows.filter(isBase), ...others);
  }

  compare(first, second) {
    const turn = this.sorted.down ? -1 : 1;
    if (this.isName(this.sorted.column)) {
      return turn * first.textContent.localeCompare(second.textContent, "en", { numeric: true });
    }
    const number = (cell) => Number(cell.dataset.v ?? NaN);
    const [one, other] = [number(first), number(second)];
    if (Number.isNaN(one) || Number.isNaN(other)) return Number.isNaN(one) - Number.isNaN(other);
    return turn * (one - other);
  }

  filter() {
    const words = byId("cells-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    let matching = 0;
    for (const row of this.rows) {
      const matches = words.every((word) => this.haystacks.get(row).includes(word));
      matching += matches;
      row.hidden = !matches && !row.classList.contains("base");
    }
    const told = `${matching} of ${this.rows.length} rows match; the baseline is shown in any case.`;
    this.tell(words.length ? told : "");
  }

  box(column) {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = true;
    box.addEventListener("change", () => this.show(column, box.checked));
    label.append(box, ` ${this.names[column]}`);
    this.boxes.push(box);
    return label;
  }

  show(column, shown) {
    this.boxes[column].checked = shown;
    for (const row of [this.table.tHead.rows[0], ...this.rows]) row.cells[column].hidden = !shown;
    const changes = this.heads.filter((head) => head.dataset.role === "change");
    byId("cells-changes").checked = changes.some((head) => !head.hidden);
  }

  // The table as it is shown; with all digits, and headings that say so, for a program.
  grid(exact) {
    const shown = this.heads.map((_, column) => column).filter((c) => !this.heads[c].hidden);
    const rows = [...this.body.rows].filter((row) => !row.hidden);
    const heads = shown.map((column) => ({
      text: exact ? this.heads[column].dataset.csv : this.names[column],
      numeric: !this.isName(column),
    }));
    return [heads, ...rows.map((row) => shown.map((column) => {
      const { textContent: text, dataset } = row.cells[column];
      const none = text === "—" && !this.isName(column); // a program reads it as an empty field
      return { text, value: exact ? (dataset.v ?? (none ? "" : undefined)) : undefined };
    }))];
  }

  async copy(format) {
    const text = FORMATS[format](this.grid(format === "csv"));
    const area = byId("cells-text");
    try {
      await navigator.clipboard.writeText(text);
      area.hidden = true;
      this.tell(`Copied as ${NAMES[format]}.`);
    } catch { // no clipboard here, or none that is allowed
      area.value = text;
      area.hidden = false;
      area.focus();
      area.select();
      this.tell(`The browser does not allow it: copy the ${NAMES[format]} below by hand.`);
    }
  }

  save() {
    const address = URL.createObjectURL(new Blob([asCsv(this.grid(true))], { type: "text/csv" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = `${this.table.dataset.file}.csv`;
    link.click();
    URL.revokeObjectURL(address);
  }

  tell(text) { byId("cells-told").textContent = text; }
}

const theme = byId("theme");
if (theme) offerThemes(theme);
offerPictures();
document.querySelectorAll(".scroll").forEach(offerShades);
const cellsTable = byId("cells-table");
if (cellsTable) new Cells(cellsTable).offer();
