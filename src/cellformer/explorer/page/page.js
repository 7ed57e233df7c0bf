"use strict";
const of = (id) => document.getElementById(id);
const view = of("view");
let current = null; // the complex that is shown: {smiles} or {row}
let picture = null; // the last picture with its file and its numbers
let table = null; // the last table
const dark = matchMedia("(prefers-color-scheme: dark)");

async function ask(path, question) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(question),
  }).catch(() => { throw new Error("the explorer does not answer; has it been ended in its terminal?"); });
  const found = await answer.json().catch(() => ({ error: `the explorer answered ${answer.status}` }));
  if (found.error) throw new Error(found.error);
  return found;
}
// Runs one question after another; what it does, and an error, is shown in two places of the page.
function attempts(busy, failed) {
  let asked = 0; // only the answer to the last question counts
  return async (word, work) => {
    const mine = ++asked;
    of(busy).textContent = word;
    of(failed).hidden = true;
    try {
      await work(() => mine === asked);
    } catch (error) {
      if (mine === asked) {
        of(failed).textContent = error.message;
        of(failed).hidden = false;
      }
    }
    if (mine === asked) of(busy).textContent = "";
  };
}
const attempt = attempts("busy", "error");
function cell(row, text, tag = "td") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (tag === "th") made.scope = "col";
  if (/^[-+.\d]\S{0,15}$/.test(text)) made.className = "number";
  row.append(made);
  return made;
}
function head(element, words) {
  element.labels = words;
  const row = document.createElement("tr");
  for (const word of words) cell(row, word, "th");
  element.tHead.replaceChildren(row);
  element.tBodies[0].replaceChildren();
}
function label(element) { // every cell says what it is, for windows where rows are lists
  for (const row of element.tBodies[0].rows) {
    [...row.cells].forEach((one, number) => { one.dataset.label = element.labels[number]; });
  }
}
function choices(select, pairs) {
  const before = select.value;
  select.replaceChildren(...pairs.map(([value, text]) => new Option(text, value)));
  if (pairs.some(([value]) => String(value) === before)) select.value = before;
}
function save(text, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function showPrediction(found) {
  of("subject").textContent = `${found.name} (${found.told})`;
  const truth = found.predictions.some((one) => one.truth !== undefined);
  const shares = found.predictions.some((one) => one.probabilities);
  const more = shares || found.predictions.some((one) => one.interval);
  const middle = more ? [shares ? "probabilities" : "interval"] : [];
  head(of("values"), ["target", "prediction", ...middle, ...(truth ? ["true"] : [])]);
  for (const one of found.predictions) {
    const row = of("values").tBodies[0].insertRow();
    cell(row, one.target);
    cell(row, one.value);
    if (one.interval) cell(row, `${one.interval[0]} to ${one.interval[1]} (${one.level})`);
    else if (one.probabilities) cell(row, one.probabilities.map(([label, share]) => `${label}: ${share}`).join(", "));
    else if (more) cell(row, "");
    if (truth) cell(row, one.truth ?? "");
  }
  label(of("values"));
  of("prediction").hidden = false;
}
function chosenView() {
  const data = new FormData(view);
  const head = data.get("head");
  return {
    kind: data.get("kind"), encoding: data.get("encoding"), layer: Number(data.get("layer")),
    head: head === "" ? null : Number(head), arrow: data.get("arrow") ?? "", form: data.get("form"),
    method: data.get("method"), output: Number(data.get(data.get("kind") === "predictions" ? "target" : "output")),
  };
}
async function drawPicture(stillWanted) {
  of("look").hidden = false;
  of("picture").replaceChildren();
  of("caption").textContent = "";
  picture = null;
  const found = await ask("/api/picture", { ...current, view: chosenView(), dark: dark.matches });
  if (!stillWanted()) return;
  picture = found;
  of("picture").classList.toggle("wide", chosenView().kind === "predictions");
  of("picture").innerHTML = found.svg; // made by the server, all text in it escaped
  of("caption").textContent = found.description;
  if (found.arrows.length) choices(view.elements.arrow, found.arrows);
}
function inspect(which) {
  return attempt("Predicting", async (stillWanted) => {
    of("prediction").hidden = true;
    of("look").hidden = true;
    const found = await ask("/api/predict", which);
    if (!stillWanted()) return;
    current = which;
    showPrediction(found);
    choices(view.elements.arrow, [["", "first"]]);
    const drawn = drawPicture(stillWanted);
    document.dispatchEvent(new Event("inspected")); // what is asked now is answered after the picture
    await drawn;
  });
}
function readTable(file) {
  return attempt("Reading the table", async (stillWanted) => {
    if (file.size > 2e6) throw new Error(`${file.name} has more than 2 MB; use cellformer predict for it`);
    const found = await ask("/api/table", { csv: await file.text() });
    if (!stillWanted()) return;
    table = found;
    head(of("rows"), [...found.columns, "look"]);
    found.rows.forEach((values, number) => {
      const smiles = found.smiles[number];
      const row = of("rows").tBodies[0].insertRow();
      for (const value of values) cell(row, value);
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Show";
      button.setAttribute("aria-label", `Show ${smiles}`);
      button.addEventListener("click", () => { of("smiles").value = smiles; inspect({ smiles }); });
      cell(row, "").append(button);
    });
    label(of("rows"));
    of("table").hidden = false;
  });
}
function showOptions() {
  const kind = new FormData(view).get("kind");
  for (const label of view.querySelectorAll("[data-for]")) label.hidden = label.dataset.for !== kind;
}

of("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  of("example").value = "";
  inspect({ smiles: of("smiles").value });
});
of("example").addEventListener("change", () => {
  if (of("example").value !== "") inspect({ row: Number(of("example").value) });
});
of("csv").addEventListener("change", () => { if (of("csv").files.length) readTable(of("csv").files[0]); });
document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  if (event.dataTransfer.files.length) readTable(event.dataTransfer.files[0]);
});
view.addEventListener("change", () => {
  showOptions();
  if (current) attempt("Drawing", drawPicture);
});
dark.addEventListener("change", () => { if (current) attempt("Drawing", drawPicture); });
view.addEventListener("submit", (event) => event.preventDefault());
of("save-svg").addEventListener("click", () => { if (picture) save(picture.file, "picture.svg", "image/svg+xml"); });
of("save-csv").addEventListener("click", () => { if (picture) save(picture.csv, "numbers.csv", "text/csv"); });
of("save-table").addEventListener("click", () => { if (table) save(table.csv, "predictions.csv", "text/csv"); });

attempt("Opening", async () => {
  const about = await (await fetch("/api/about")).json();
  of("run").textContent = about.name;
  of("limits").textContent = `Up to ${about.limits.atoms} heavy atoms.`;
  of("missing").textContent = about.missing ? `There are none: ${about.missing}` : "";
  of("example").append(...about.examples.map(([row, name]) => new Option(`${row}: ${name}`, row)));
  const numbers = (count) => [...Array(count).keys()].map((number) => [number, number]);
  const own = ["", `${about.encodings} (the run's)`];
  choices(view.elements.encoding, [own, ...about.listed.map((name) => [name, name])]);
  choices(view.elements.layer, numbers(about.layers));
  choices(view.elements.head, [["", "mean of all"], ...numbers(about.heads)]);
  choices(view.elements.output, about.outputs.map((name, number) => [number, name]));
  choices(view.elements.arrow, [["", "first"]]);
  choices(view.elements.target, about.targets.map((name, number) => [number, name]));
  for (const one of view.elements.kind) {
    one.parentElement.hidden = !about.kinds.includes(one.value);
    one.checked = one.value === about.kinds[0];
  }
  showOptions();
  document.dispatchEvent(new CustomEvent("opened", { detail: about }));
  if (about.start) {
    of("example").value = about.start.row ?? "";
    of("smiles").value = about.start.smiles ?? "";
    inspect(about.start);
  }
});
