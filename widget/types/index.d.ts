/** What a page meets of the elements, by TypeScript; README.md says what each attribute, property and event is for. */

/** Made of src/strings.ts by the build. */
export { setStrings, type SomeStrings, type Strings } from "../dist/strings.js";

export interface AgentElement extends HTMLElement {
  getToken: (() => Promise<string>) | null;
  refresh(): void | Promise<void>;
}
export interface QwestlyActivity extends AgentElement {}
export interface QwestlyApprovals extends AgentElement {
  open(id: string): Promise<void>;
}
export interface QwestlyBriefing extends AgentElement {
  open(id: string): Promise<void>;
}
export interface QwestlyChat extends AgentElement {
  send(text: string, role?: string | null): boolean;
  showApprovals(): void;
}
export interface QwestlyHome extends AgentElement {}
export interface QwestlyInterview extends AgentElement {}
export interface QwestlyJobs extends AgentElement {
  open(part: string): void;
}
export interface QwestlyLearning extends AgentElement {}
export interface QwestlyMemories extends AgentElement {}
export interface QwestlySettings extends AgentElement {}

export interface QwestlyElements {
  "qwestly-activity": QwestlyActivity;
  "qwestly-approvals": QwestlyApprovals;
  "qwestly-briefing": QwestlyBriefing;
  "qwestly-chat": QwestlyChat;
  "qwestly-home": QwestlyHome;
  "qwestly-interview": QwestlyInterview;
  "qwestly-jobs": QwestlyJobs;
  "qwestly-learning": QwestlyLearning;
  "qwestly-memories": QwestlyMemories;
  "qwestly-settings": QwestlySettings;
}

export interface QwestlyEvents {
  activity: CustomEvent<Record<string, unknown>>;
  approvalswaiting: CustomEvent<{ count: number }>;
  asklesson: CustomEvent<{ topic: string; module: string }>;
  briefed: CustomEvent<{ id: string }>;
  briefingsunread: CustomEvent<{ count: number }>;
  conversationchange: CustomEvent<{ id: string | null }>;
  erased: CustomEvent<null>;
  needsyou: CustomEvent<{ count: number }>;
  partshown: CustomEvent<{ part: string; tab: string }>;
  say: CustomEvent<{ words: string }>;
  showapprovals: CustomEvent<{ id?: string } | null>;
  showbriefing: CustomEvent<{ id: string }>;
  showplace: CustomEvent<{ place: string; id: string | null }>;
  showjobs: CustomEvent<{ part: string; id: string }>;
  turnend: CustomEvent<null>;
}

declare global {
  interface HTMLElementTagNameMap extends QwestlyElements {}
  interface HTMLElementEventMap extends QwestlyEvents {}
}
