/** Styles of `<qwestly-interview>`. */

import { css } from "lit";

export const INTERVIEW_STYLES = css`
  :host { display: flex; flex-direction: column; block-size: 100%; }
  .page { inline-size: 100%; }
  h4 { margin: 0; font-size: var(--note); }
  h2:focus { outline: none; }
  .spoken { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); }
  .main-button { padding: .45rem 1rem; border: 0; border-radius: .6rem; background: var(--accent); color: var(--on-accent); font-weight: 600; cursor: pointer; }
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
  summary { cursor: pointer; }
  .topics > li { display: flow-root; }
  .move { float: inline-end; display: flex; gap: .25rem; }
  .icon-button { display: grid; place-items: center; inline-size: 1.9rem; block-size: 1.9rem; padding: 0; border: 1px solid var(--line); border-radius: .6rem; background: var(--background); cursor: pointer; }
  .icon { inline-size: 1rem; block-size: 1rem; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
  .aspects, .draft { display: grid; gap: .5rem; padding: .2rem 0 .4rem; }
  .aspects li { display: flex; flex-wrap: wrap; gap: .25rem .5rem; padding-inline-start: .8rem; border-inline-start: 2px solid var(--line); }
  .aspects li.covered { border-color: var(--accent); }
  .aspects q { flex-basis: 100%; }
  .badge { padding: 0 .5rem; border: 1px solid var(--line); border-radius: 1rem; color: var(--muted); font-size: var(--small); white-space: nowrap; }
  .badge.active, .new .badge { border-color: var(--accent); color: var(--accent); }
  .side .draft li { display: flex; align-items: start; gap: .5rem; }
  .draft li details { flex: 1; min-inline-size: 0; }
  .draft li.new { padding-inline-start: .6rem; border-inline-start: 3px solid var(--accent); }
  blockquote { margin: .3rem 0; padding-inline-start: .7rem; border-inline-start: 2px solid var(--accent); color: var(--muted); font-size: var(--note); }
  ins { color: var(--accent); text-decoration: none; }
  ins::before { content: "+ "; }
  del { color: var(--muted); }
  @media (pointer: coarse) { .main-button, .tabs button, .icon-button, .side summary, .side select { min-block-size: 44px; } }
  @container (max-width: 760px) {
    .room { grid-template-columns: minmax(0, 1fr); }
    .tabs { display: flex; flex: 1 1 100%; }
    .tabs button { flex: 1; padding: .4rem; border: 0; border-block-end: 2px solid transparent; background: none; color: var(--muted); cursor: pointer; }
    .tabs button[aria-pressed=true] { border-color: var(--accent); color: var(--accent); font-weight: 600; }
    .room[data-tab=chat] .side, .room[data-tab=draft] qwestly-chat { display: none; }
    .side { border: 0; }
  }
`;
