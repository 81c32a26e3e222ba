/** Styles of `<qwestly-jobs>` and its parts. */

import { css } from "lit";

export const JOB_STYLES = css`
  :host { display: grid; align-content: start; gap: 1rem; min-inline-size: 0; }
  .head.from-start h2 { flex: none; }
  h3 { font-size: var(--lead); line-height: 1.3; }
  h3:focus { outline: none; }
  h4, h5 { margin: 0; font-size: var(--note); }
  nav { gap: 1rem; }
  .job .main-button { border-color: var(--accent); background: none; color: var(--accent); }
  .job .main-button:hover { background: var(--raised); }
  .minor .quiet { padding-inline: .5rem; border-color: transparent; background: none; color: var(--muted); }
  .minor .quiet[aria-pressed=true] { border-color: var(--accent); color: var(--accent); }
  .end { margin-inline-start: auto; }
  .spoken { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); }
  ul { display: grid; gap: .75rem; }
  section { display: grid; gap: .5rem; align-content: start; min-inline-size: 0; }
  summary { cursor: pointer; }
  .text { white-space: pre-line; }
  a { color: var(--accent); }
  mark { background: color-mix(in srgb, var(--accent) 18%, transparent); color: var(--text); }
  blockquote { margin: .3rem 0; padding-inline-start: .7rem; border-inline-start: 2px solid var(--accent); color: var(--muted); font-size: var(--note); }
  cite { display: block; font-style: normal; font-size: var(--note); }
  cite::before { content: "— "; }
  .badge { justify-self: start; padding: 0 .5rem; border: 1px solid var(--line); border-radius: 1rem; color: var(--muted); font-size: var(--small); white-space: nowrap; }
  .icon { inline-size: 1.1rem; block-size: 1.1rem; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; vertical-align: -.2em; }
  .job, .application, .applying { display: grid; gap: .75rem; }
  .moved .soft { display: block; }
  .moved { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: .5rem 1rem; }
  .reasons { display: grid; gap: .25rem; padding-inline-start: .8rem; border-inline-start: 3px solid var(--line); }
  .reasons.for { border-color: var(--accent); }
  .reasons ul { gap: .25rem; }
  .reasons.warning { border-color: var(--danger); }
  .choices label { display: flex; align-items: center; gap: .5rem; white-space: nowrap; font-size: var(--note); }
  .applying { padding-block-start: .7rem; border-block-start: 1px solid var(--line); }
  .applying fieldset, .applying label:not(.soft) { display: grid; gap: .25rem; }
  .applying label:not(.soft) { display: block; }
  .wishes { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); gap: 1rem; }
  .wishes label { display: grid; gap: .25rem; align-content: start; font-size: var(--note); }
  .wishes .check, .wishes .wide, .wishes > p { grid-column: 1 / -1; }
  .wishes .check { display: flex; align-items: center; gap: .5rem; }
  .sentences u { text-decoration: underline wavy var(--warning, #b97f12) 1.5px; text-underline-offset: .2em; }
  .sentences { display: grid; gap: .5rem; margin: .6rem 0 0; padding-inline-start: 1.4rem; }
  .editor, .editor fieldset { display: grid; gap: .5rem; }
  .editor .link { justify-self: start; }
  .sentence { display: grid; grid-template-columns: minmax(0, 1fr) auto auto; gap: .5rem; align-items: start; }
  .row.met, .row.partly { border-inline-start: 3px solid var(--accent); }
  .row.partly { border-inline-start-style: dashed; }
  .board { display: grid; grid-template-columns: repeat(5, minmax(0, 1fr)); gap: 1rem; }
  .board .row { padding: .7rem .8rem; }
  .board select { inline-size: auto; max-inline-size: 100%; padding: .3rem .5rem; }
  .due { color: var(--danger); font-weight: 600; }
  .head > select { inline-size: auto; }
  .file { position: relative; cursor: pointer; }
  .file:focus-within { outline: 2px solid var(--accent); outline-offset: 2px; }
  .beside { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1rem; }
  .found { gap: .25rem; }
  .field-button { inline-size: 100%; padding: .35rem .6rem; border: 1px solid transparent; border-radius: .6rem; background: none; text-align: start; cursor: pointer; }
  .field-button:hover { background: var(--raised); }
  .field-button[aria-pressed=true] { border-color: var(--accent); background: var(--surface); }
  .paper { padding: 1rem 1.2rem; border: 1px solid var(--line); border-radius: .9rem; background: var(--surface); font-size: var(--note); }
  .line { display: inline; padding: 0; border: 0; border-block-end: 1px dashed var(--edge); background: none; text-align: start; white-space: inherit; cursor: pointer; }
  .line[aria-pressed=true] { background: color-mix(in srgb, var(--accent) 22%, transparent); }
  @media (pointer: coarse) { .main-button, summary, select, .field-button { min-block-size: 44px; } }
  @container (max-width: 860px) { .board { grid-template-columns: minmax(0, 1fr); } .board section:not(:has(li)) { display: none; } }
  @container (max-width: 640px) { .beside { grid-template-columns: minmax(0, 1fr); } }
`;
