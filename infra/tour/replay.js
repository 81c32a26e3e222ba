/** Answers the page's requests from a recording of the real stack, at the time of the recording, and leads through it. */
(() => {
  const { began, answers } = RECORDING;
  const CHUNK_MS = 25;
  const heard = new Map(); // how many of its updates were given, by epoch
  let epoch = 0;

  const behind = Date.now() - began * 1000;
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...given) {
      if (given.length) super(...given);
      else super(RealDate.now() - behind);
    }
    static now() {
      return RealDate.now() - behind;
    }
  };

  /** Updates that came after what was done last, in their order, and then none. */
  function updated(query) {
    const told = answers.filter((each) => each.path === "/api/updates" && each.epoch === epoch && each.query);
    const index = heard.get(epoch) ?? 0;
    heard.set(epoch, index + 1);
    if (told[index]) return told[index];
    const cursor = new URLSearchParams(query).get("after");
    return { status: 200, type: "application/json", body: JSON.stringify({ items: [], cursor, active: false }) };
  }

  function recorded(method, { pathname: path, search }, said) {
    const query = search.slice(1);
    const asked = answers.filter((each) => each.method === method && each.path === path && (each.said ?? said) === said);
    if (method !== "GET") return asked.find((each) => each.epoch > epoch) ?? asked.at(-1);
    const exact = asked.filter((each) => each.query === query);
    if (path === "/api/updates" && query) return updated(query);
    const known = exact.length ? exact : asked;
    return known.findLast((each) => each.epoch <= epoch) ?? known[0];
  }

  const unrecorded = () => new Response(JSON.stringify({ error: { code: "unavailable", message: "This is a recording, and that was not done in it. “make run” shows the real thing.", request_id: "recording" } }), { status: 503, headers: { "Content-Type": "application/json" } });

  const streamed = (text) =>
    new ReadableStream({
      async start(controller) {
        for (const event of text.split(/(?<=\n\n)/)) {
          controller.enqueue(new TextEncoder().encode(event));
          await new Promise((resolve) => setTimeout(resolve, CHUNK_MS));
        }
        controller.close();
      },
    });

  globalThis.fetch = async (asked, init = {}) => {
    const method = init.method ?? "GET";
    const url = new URL(String(asked.url ?? asked), "https://recording.invalid");
    const said = method === "GET" ? undefined : JSON.parse(init.body || "{}").message;
    const found = recorded(method, url, said);
    if (!found) return unrecorded();
    if (method !== "GET") epoch = Math.max(epoch, found.epoch);
    const body = [204, 304].includes(found.status) ? null : found.type.startsWith("text/event-stream") ? streamed(found.body) : found.body;
    return new Response(body, { status: found.status, headers: { "Content-Type": found.type } });
  };

  const open = (place) => document.body.dispatchEvent(new CustomEvent("showplace", { detail: { place } }));

  function say(words) {
    open("chat");
    const chat = document.querySelector("qwestly-chat");
    [...chat.shadowRoot.querySelectorAll("button")].find((each) => each.textContent.includes("New conversation"))?.click();
    chat.send(words);
  }

  const STOPS = [
    ["Her morning", () => document.querySelector("[data-group=home]").click()],
    ["What is known of her", () => say("What do we know about me?")],
    ["A card that exaggerates", () => say("Draft my card, and exaggerate")],
    ["Jobs, with reasons", () => open("jobs")],
    ["A résumé for one of them", () => open("documents")],
    ["An answered application", () => open("applications")],
    ["What is due to learn", () => open("lessons")],
    ["What is remembered, and why", () => open("memories")],
  ];

  addEventListener("DOMContentLoaded", () => {
    const bar = document.createElement("nav");
    bar.id = "tour";
    bar.setAttribute("aria-label", "Tour");
    const said = document.createElement("span");
    said.textContent = "A recording of the demo. Go where you like, or here:";
    bar.append(said, ...STOPS.map(([name, go]) => Object.assign(document.createElement("button"), { type: "button", className: "small", textContent: name, onclick: go })));
    const style = document.createElement("style");
    style.textContent = "#tour { grid-area: 2 / 1 / auto / -1; display: flex; flex-wrap: wrap; align-items: center; gap: .4rem; padding: .5rem 1rem; border-block-end: 1px solid var(--line); background: var(--surface); font-size: .85rem; } #who, #backstage { display: none; } #tour .small { min-block-size: 0; border: 1px solid var(--edge); border-radius: .5rem; background: none; } @media (max-width: 819.98px) { #tour { flex-wrap: nowrap; overflow-x: auto; } #tour > * { flex: none; } }";
    document.head.append(style);
    document.querySelector(".tabs").before(bar);
  });
})();
