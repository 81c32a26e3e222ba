/** Styles of `<qwestly-interview>`. */

import { css } from "lit";

export const INTERVIEW_STYLES = css`
  :host { display: flex; flex-direction: column; block-size: 100%; }
  .page > ul { display: grid; gap: .5rem; }
  .interview { display: grid; gap: .25rem .75rem; grid-template-columns: minmax(0, 1fr) auto; align-items: center; }
  .interview .quiet { grid-area: 1 / 2 / 3 / 3; }
  .title { font-weight: 550; }
  .room { position: relative; display: grid; grid-template: auto minmax(0, 1fr) / minmax(0, 1fr) minmax(20rem, 26rem); flex: 1; min-block-size: 20rem; }
  .top { grid-column: 1 / -1; display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .75rem; padding: .5rem 1rem; border-block-end: 1px solid var(--line); }
  .top h2 { flex: 1; font-size: var(--lead); }
  .tabs { display: none; }
  qwestly-chat { min-block-size: 0; }
  .side { display: grid; align-content: start; gap: 1rem; min-block-size: 0; overflow: hidden auto; padding: 1rem; border-inline-start: 1px solid var(--line); background: var(--surface); }
  .side > section, .state { display: grid; gap: .5rem; }
  .side > section > ul:not(.draft) { display: grid; gap: .5rem; }
  #add-topic { justify-self: start; }
  .side h3 { flex: 1; font-size: 1rem; }
  .side .tools { align-items: center; gap: .5rem .75rem; }
  .side select.field { inline-size: auto; padding-block: .25rem; }
  .side form .field { flex: 1 1 10rem; inline-size: auto; min-inline-size: 0; }
  progress { inline-size: 100%; block-size: .5rem; accent-color: var(--accent); }
  .topics > li { display: flow-root; }
  .move { float: inline-end; display: flex; gap: .25rem; }
  .icon-button { inline-size: 1.9rem; block-size: 1.9rem; }
  .aspects, .draft { display: grid; gap: .5rem; padding: .2rem 0 .4rem; }
  .aspects li { display: flex; flex-wrap: wrap; gap: .25rem .5rem; padding-inline-start: .8rem; border-inline-start: 2px solid var(--line); }
  .aspects li.covered { border-color: var(--accent); }
  .aspects q { flex-basis: 100%; }
  .side .draft li { display: flex; align-items: start; gap: .5rem; }
  .draft li details { flex: 1; min-inline-size: 0; }
  .draft li.new { padding-inline-start: .6rem; border-inline-start: 3px solid var(--accent); }
  ins { color: var(--accent); text-decoration: none; }
  ins::before { content: "+ "; }
  del { color: var(--muted); }
  @media (pointer: coarse) { .tabs button, .icon-button { min-block-size: 44px; } }
  @container (max-width: 760px) {
    .room { grid-template-columns: minmax(0, 1fr); }
    .tabs { display: flex; flex: 1 1 100%; }
    .tabs button { flex: 1; padding: .4rem; border: 0; border-block-end: 2px solid transparent; background: none; color: var(--muted); }
    .tabs button[aria-pressed=true] { border-color: var(--accent); color: var(--accent); font-weight: 600; }
    .room[data-tab=chat] .side, .room[data-tab=draft] qwestly-chat { display: none; }
    .side { border: 0; }
  }
`;
