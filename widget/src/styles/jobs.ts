/** Styles of `<qwestly-jobs>` and its parts. */

import { css } from "lit";

export const JOB_STYLES = css`
  :host { display: grid; align-content: start; gap: 1rem; min-inline-size: 0; }
  .job .main-button { border-color: var(--accent); background: none; color: var(--accent); }
  .job .main-button:hover { background: var(--raised); }
  .end { margin-inline-start: auto; }
  ul { display: grid; gap: .75rem; }
  section { display: grid; gap: .5rem; align-content: start; min-inline-size: 0; }
  .text { white-space: pre-line; }
  cite { display: block; }
  .job, .application, .applying { display: grid; gap: .75rem; }
  .moved .soft { display: block; }
  .moved > span { flex: 1 1 0; }
  .moved { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: .5rem 1rem; }
  .reasons { padding-inline-start: .8rem; border-inline-start: 3px solid var(--line); }
  .reasons.for { border-color: var(--accent); }
  .reasons ul { gap: 0; }
  .reasons summary { list-style: none; }
  .reasons summary::after { content: " ▾"; color: var(--muted); }
  .reasons.warning { border-color: var(--danger); }
  fieldset.tools label { display: flex; align-items: center; gap: .5rem; font-size: var(--note); }
  fieldset.tools .field { inline-size: 14rem; }
  legend { margin-block-end: .25rem; padding: 0; color: var(--muted); font-size: var(--note); }
  .choices label { display: flex; flex-wrap: wrap; align-items: center; gap: 0 .5rem; flex: 0 1 auto; font-size: var(--note); }
  .choices select { inline-size: auto; max-inline-size: 100%; padding-block: .3rem; }
  .applying { padding-block-start: .7rem; border-block-start: 1px solid var(--line); }
  .applying fieldset { display: grid; gap: .25rem; }
  .wishes { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); gap: 1rem; }
  .wishes { grid-auto-flow: dense; }
  .wishes label { display: grid; gap: .25rem; align-content: start; font-size: var(--note); }
  .wishes .check, .wishes .wide, .wishes > p { grid-column: 1 / -1; }
  .wishes .check { display: flex; align-items: center; gap: .5rem; }
  .sentences { display: grid; gap: .5rem; margin: .6rem 0 0; padding-inline-start: 1.4rem; }
  .editor, .editor fieldset { display: grid; gap: .5rem; }
  .sentence { display: grid; grid-template-columns: minmax(0, 1fr) auto auto; gap: .5rem; align-items: start; }
  .row.met, .row.partly { border-inline-start: 3px solid var(--accent); }
  .row.partly { border-inline-start-style: dashed; }
  .board { display: grid; grid-template-columns: repeat(5, minmax(0, 1fr)); gap: 1rem; }
  .board select { inline-size: auto; max-inline-size: 100%; }
  .due { color: var(--danger); font-weight: 600; }
  .head > select { inline-size: auto; }
  .file { position: relative; cursor: pointer; }
  .file:focus-within { outline: 2px solid var(--accent); outline-offset: 2px; }
  .beside { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1rem; }
  .found { gap: .25rem; }
  .field-button { inline-size: 100%; padding: .35rem .6rem; border: 1px solid transparent; border-radius: .6rem; background: none; text-align: start; }
  .field-button:hover { background: var(--raised); }
  .field-button[aria-pressed=true] { border-color: var(--accent); background: var(--background); }
  .line { display: inline; padding: 0; border: 0; border-block-end: 1px dashed var(--edge); background: none; text-align: start; white-space: inherit; }
  .line[aria-pressed=true] { background: color-mix(in srgb, var(--accent) 22%, transparent); }
  @media (pointer: coarse) { .field-button { min-block-size: 44px; } }
  @container (max-width: 860px) { .board { grid-template-columns: minmax(0, 1fr); } .board section:not(:has(li)) { display: none; } }
  @container (max-width: 640px) { .beside { grid-template-columns: minmax(0, 1fr); } .end { margin: 0; } .choices label { flex: 1 1 40%; } .choices select { inline-size: 100%; } }
`;
