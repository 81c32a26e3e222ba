/** Workflows as graphs of their states: a list for everybody, with the lines between its rows drawn beside it. */

const ROW_PX = 26;
const LANE_PX = 7; // between lines that pass other states
const INDENT_PX = 16; // of the states that run for each item
const BEND_PX = 4;
const DOT_PX = 4.5;

function node(tag, attributes, ...children) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
}

function drawn(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

const words = (name) => name.replaceAll(/[-_]/g, " ");
const or = new Intl.ListFormat("en", { type: "disjunction" });

/** The graph of one workflow, folded unless it runs. */
export class Graph {
  constructor({ machine, states }) {
    this.machine = words(machine);
    this.rows = new Map(states.map((state) => [state.name, this.#row(state)]));
    this.running = node("span", { className: "more" });
    const list = node("ol", { ariaLabel: `States of ${this.machine}` }, ...this.rows.values());
    const { svg, width } = drawing(states);
    states.forEach(({ name, depth }) => { this.rows.get(name).style.paddingInlineStart = `${width + depth * INDENT_PX}px`; });
    this.element = node("details", { className: "graph" }, node("summary", {}, node("span", { className: "name" }, this.machine), this.running), node("div", {}, svg, list));
  }

  #row({ name, next }) {
    const then = next.length ? `, then ${or.format(next.map(words))}` : ", the end";
    return node("li", {}, node("span", { className: "name" }, words(name)), node("span", { className: "spoken" }, then), node("span", { className: "here" }));
  }

  /** Marks the states that running executions are in. */
  mark(executions) {
    const [last, runs] = [this.running.textContent, executions.length];
    this.running.textContent = runs ? `${runs} running` : "";
    if (runs && !last) this.element.open = true;
    for (const [name, row] of this.rows) {
      const here = executions.filter(({ state }) => state === name).length;
      row.querySelector(".here").textContent = here ? `${here} here` : "";
      here ? row.setAttribute("aria-current", "step") : row.removeAttribute("aria-current");
      this.element.querySelector(`[data-state="${name}"]`).classList.toggle("now", here > 0);
    }
  }
}

/** Lines and dots; a line that passes other states has a lane of its own. */
function drawing(states) {
  const at = new Map(states.map(({ name }, row) => [name, row]));
  const edges = states.flatMap(({ name, next }) => next.map((to) => ({ from: at.get(name), to: at.get(to) })));
  const passing = edges.filter(({ from, to }) => to !== from + 1).sort((one, other) => length(one) - length(other));
  const lanes = [];
  for (const edge of passing) {
    edge.lane = lanes.findIndex((taken) => taken.every((each) => !overlap(each, edge)));
    if (edge.lane < 0) edge.lane = lanes.push([]) - 1;
    lanes[edge.lane].push(edge);
  }
  const left = (lanes.length + 1) * LANE_PX;
  const x = (row) => left + DOT_PX + states[row].depth * INDENT_PX;
  const y = (row) => (row + 0.5) * ROW_PX;
  const deepest = Math.max(...states.map(({ depth }) => depth));
  const svg = drawn("svg", { width: left + 2 * DOT_PX + deepest * INDENT_PX + 2, height: states.length * ROW_PX, "aria-hidden": "true" });
  for (const { from, to, lane } of edges) svg.append(drawn("path", { class: "line", d: lane === undefined ? straight(x(from), y(from), x(to), y(to)) : arc(x(from), y(from), x(to), y(to), left - (lane + 1) * LANE_PX) }));
  for (const { to, lane } of edges) if (lane !== undefined) svg.append(drawn("path", { class: "head", d: `M${x(to) - DOT_PX - 1} ${y(to)}l-4 -3v6z` }));
  states.forEach(({ name, type }, row) => svg.append(drawn("circle", { "data-state": name, class: type, cx: x(row), cy: y(row), r: DOT_PX })));
  return { svg, width: left + 2 * DOT_PX + 8 };
}

const length = ({ from, to }) => Math.abs(from - to);
const overlap = (one, other) => Math.max(Math.min(one.from, one.to), Math.min(other.from, other.to)) < Math.min(Math.max(one.from, one.to), Math.max(other.from, other.to)) || one.to === other.to;

const straight = (x1, y1, x2, y2) => (x1 === x2 ? `M${x1} ${y1}V${y2}` : `M${x1} ${y1}V${y2 - BEND_PX}Q${x1} ${y2} ${x1 + BEND_PX} ${y2}H${x2}`);

function arc(x1, y1, x2, y2, lane) {
  const bend = y2 > y1 ? BEND_PX : -BEND_PX;
  return `M${x1} ${y1}H${lane + BEND_PX}Q${lane} ${y1} ${lane} ${y1 + bend}V${y2 - bend}Q${lane} ${y2} ${lane + BEND_PX} ${y2}H${x2}`;
}
