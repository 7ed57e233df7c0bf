"use strict";
// What the model takes for alike: a map of rows, or of the cells on show, and the nearest rows.
const compare = attempts("alike-busy", "alike-error");
const HINT = "Point at a dot, or go from one to the next with the arrow keys.";
const REACH = 24; // pixels around a dot in which it is meant
const drawings = new Map(); // of rows, as they were asked for
let ofCells = false; // whether the dots are cells of the complex on show, else rows of the data
let comparing = false; // nothing is computed before somebody asks for it
let chart = null; // the map as the server told it
let mark = null; // the place of the complex on show
let selected = null; // the dot that the card tells of
let byTouch = false;

function made(name, attributes, parent) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent.append(element);
  return element;
}
function line(parent, text, kind = "p") {
  const element = document.createElement(kind);
  element.textContent = text;
  parent.append(element);
  return element;
}
// Dots in a picture as wide as its place, both axes alike; keeps where they are in element.dots.
function scatter(element, points, colors, more) {
  const every = more ? [...points, more] : points;
  const [left, right] = [Math.min(...every.map((p) => p[0])), Math.max(...every.map((p) => p[0]))];
  const [low, high] = [Math.min(...every.map((p) => p[1])), Math.max(...every.map((p) => p[1]))];
  const wide = Math.max(element.getBoundingClientRect().width, 100), rim = 14;
  const tall = Math.min(Math.max(wide * (high - low) / ((right - left) || 1), 0.5 * wide), Math.max(0.7 * wide, 360), wide);
  const scale = Math.min((wide - 2 * rim) / ((right - left) || 1), (tall - 2 * rim) / ((high - low) || 1));
  const at = ([x, y]) => [wide / 2 + scale * (x - (left + right) / 2), tall / 2 - scale * (y - (low + high) / 2)];
  element.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
  element.style.height = `${tall}px`;
  element.replaceChildren();
  element.dots = points.map(at);
  const radius = points.length > 500 ? 3.2 : 4.5;
  element.dots.forEach(([x, y], number) => {
    made("circle", { cx: x, cy: y, r: radius, class: "dot" }, element).style.fill = colors[number];
  });
  if (more) {
    const [x, y] = at(more);
    made("circle", { cx: x, cy: y, r: 9, class: "mark" }, element);
    const side = x > wide / 2 ? { x: x - 13, "text-anchor": "end" } : { x: x + 13 };
    made("text", { ...side, y: y + 4, class: "on-show" }, element).textContent = "on show";
  }
  element.rings = made("g", {}, element);
}
function drawLegend(shade) {
  of("legend").replaceChildren();
  if (shade.bar.length) {
    line(of("legend"), shade.ends[0], "span");
    line(of("legend"), "", "span").className = "bar";
    of("legend").lastChild.style.background = `linear-gradient(to right, ${shade.bar.join(",")})`;
    line(of("legend"), shade.ends[1], "span");
  }
  for (const [word, color] of shade.words) {
    const swatch = line(of("legend"), "", "span");
    swatch.className = "swatch";
    swatch.style.background = color;
    line(of("legend"), word, "span");
  }
}
function drawMap() {
  if (!chart) return;
  const shade = chart.shades[of("shade").value];
  scatter(of("map"), chart.points, shade.colors, ofCells ? null : mark);
  const what = ofCells ? "cells of the complex on show" : "rows";
  of("map").setAttribute("aria-label", `Map of ${chart.points.length} ${what}. ${HINT}${ofCells ? "" : " Enter shows one."}`);
  of("places").toggleAttribute("hidden", !ofCells); // an SVG has no property of that name
  if (ofCells) scatter(of("places"), chart.centers, shade.colors, null);
  for (const element of [of("map"), of("places")]) { // an error of nearly 0 has nearly the page's color
    element.classList.toggle("outlined", of("shade").value === "error");
  }
  drawLegend(shade);
  ring();
}
function ring() {
  for (const element of [of("map"), ...(ofCells ? [of("places")] : [])]) {
    element.rings?.replaceChildren();
    if (selected === null || !element.dots) continue;
    for (const number of ofCells ? chart.nearest[selected] : []) {
      const [x, y] = element.dots[number];
      made("circle", { cx: x, cy: y, r: 7, class: "near" }, element.rings);
    }
    const [x, y] = element.dots[selected];
    made("circle", { cx: x, cy: y, r: 8, class: "chosen" }, element.rings);
  }
}
function tell(parent, prediction, truth) {
  line(parent, `predicted ${prediction}`);
  if (truth !== "") line(parent, `true ${truth}`);
}
function drawing(row) {
  if (!drawings.has(row)) {
    drawings.set(row, ask("/api/drawing", { row }).catch((error) => {
      drawings.delete(row); // the next look asks again
      return { name: error.message, svg: "" };
    }));
  }
  return drawings.get(row);
}
async function select(number) {
  if (number === selected) return;
  selected = number;
  ring();
  const text = of("card-text");
  of("card-drawing").replaceChildren();
  text.replaceChildren();
  of("card-show").hidden = ofCells || number === null;
  if (number === null) { line(text, HINT); return; }
  const [own, part] = [chart.numbers[number], chart.parts[number]];
  line(text, ofCells ? `${chart.word} ${own}` : `row ${own} (${part})`).className = "name";
  tell(text, chart.predictions[number], chart.truths[number]);
  if (ofCells) { line(text, "Circles: the cells whose vectors are nearest.").className = "note"; return; }
  await new Promise((done) => setTimeout(done, 60)); // not for every dot on the pointer's way
  if (number !== selected) return;
  const found = await drawing(own);
  if (number !== selected) return;
  of("card-drawing").innerHTML = found.svg; // made by the server, all text in it escaped
  line(text, found.svg ? found.name : `${found.name} (too large for a drawing here)`).className = "note";
}
function nearestDot(element, event) {
  const box = element.getBoundingClientRect();
  const far = element.dots.map(([x, y]) => Math.hypot(x - event.clientX + box.left, y - event.clientY + box.top));
  const best = far.indexOf(Math.min(...far));
  return far[best] <= REACH ? best : null;
}
// The nearest dot within 45 degrees of an arrow key's direction.
function dotTowards(right, down) {
  const dots = of("map").dots;
  if (selected === null) return dots.length ? 0 : null;
  let best = selected, least = Infinity;
  dots.forEach(([x, y], number) => {
    const [dx, dy] = [x - dots[selected][0], y - dots[selected][1]];
    const along = dx * right + dy * down, across = Math.abs(dx * down) + Math.abs(dy * right);
    if (along > 0.01 && across <= along && along + across < least) [best, least] = [number, along + across];
  });
  return best;
}
async function open(row) {
  of("smiles").value = "";
  of("example").value = String(row); // stays empty for a row that is not listed there
  await inspect({ row });
  of("busy").scrollIntoView();
}
function showNeighbors(found) {
  mark = found.place;
  of("neighbors-note").textContent = "The nearest rows to the complex on show"
    + (found.part ? `, itself a row of the ${found.part} part` : "")
    + ", by the Euclidean distance of their vectors, as cellformer embed writes them.";
  of("neighbors").replaceChildren(...found.neighbors.map((one) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    const told = `row ${one.row} (${one.part}), distance ${one.distance}`;
    button.setAttribute("aria-label", `Show ${told}: predicted ${one.prediction}${one.truth === "" ? "" : `, true ${one.truth}`}`);
    button.title = one.name;
    line(button, "", "span").dataset.row = one.row; // for its drawing
    const text = line(button, "", "span");
    line(text, `row ${one.row} (${one.part})`, "b");
    line(text, `distance ${one.distance}`, "span");
    line(text, `predicted ${one.prediction}`, "span");
    if (one.truth !== "") line(text, `true ${one.truth}`, "span");
    button.addEventListener("click", () => open(one.row));
    item.append(button);
    return item;
  }));
}
// One after another, so that other questions are answered in between.
async function drawNeighbors(stillWanted) {
  for (const place of of("neighbors").querySelectorAll("[data-row]")) {
    const found = await drawing(Number(place.dataset.row));
    if (!stillWanted()) return;
    place.innerHTML = found.svg; // made by the server, all text in it escaped
  }
}
function loadComparison(afresh) {
  if (!comparing || !current) return;
  const target = Number(of("alike-target").value);
  const word = chart ? "Comparing" : `Computing the vectors of ${ofCells ? "the cells" : "the run's rows"}, once; this may take a while`;
  return compare(word, async (stillWanted) => {
    const neighbors = ofCells ? null : await ask("/api/neighbors", { ...current, target });
    if (!stillWanted()) return;
    if (neighbors) showNeighbors(neighbors);
    if (afresh || ofCells || !chart) {
      const found = await ask("/api/map", { ...current, target, dark: dark.matches });
      if (!stillWanted()) return;
      chart = found;
      choices(of("shade"), Object.keys(found.shades).map((name) => [name, name]));
      of("map-note").textContent = found.note;
      selected = undefined; // so that the card begins anew
      select(null);
    }
    of("alike-all").hidden = false;
    of("nearest").hidden = ofCells;
    of("compare").parentElement.hidden = true;
    drawMap();
    if (!ofCells) await drawNeighbors(stillWanted);
  });
}

of("compare").addEventListener("click", () => { comparing = true; loadComparison(true); });
of("shade").addEventListener("change", drawMap);
of("alike-target").addEventListener("change", () => loadComparison(true));
of("card-show").addEventListener("click", () => open(chart.numbers[selected]));
for (const element of [of("map"), of("places")]) {
  element.addEventListener("pointerdown", (event) => { byTouch = event.pointerType === "touch"; });
  element.addEventListener("pointermove", (event) => {
    const dot = nearestDot(element, event);
    if (event.pointerType !== "touch" && dot !== null) select(dot);
  });
  element.addEventListener("click", (event) => {
    const dot = nearestDot(element, event);
    if (dot === null) return;
    select(dot);
    if (!byTouch && !ofCells) open(chart.numbers[dot]); // a touch tells first; the card has a button
  });
}
of("map").addEventListener("keydown", (event) => {
  const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  if (ways[event.key]) {
    event.preventDefault();
    select(dotTowards(...ways[event.key]));
  } else if (event.key === "Enter" && selected !== null && !ofCells) {
    open(chart.numbers[selected]);
  }
});
dark.addEventListener("change", () => loadComparison(true));
addEventListener("resize", drawMap);
document.addEventListener("opened", (event) => {
  const about = event.detail;
  ofCells = about.alike === "cells";
  of("alike").hidden = !ofCells && about.missing !== "";
  of("compare").textContent = ofCells ? "Show a map of its cells" : "Show neighbors and a map";
  choices(of("alike-target"), about.targets.map((name, number) => [number, name]));
  of("alike-target").parentElement.hidden = about.targets.length < 2;
});
document.addEventListener("inspected", () => loadComparison(false));
