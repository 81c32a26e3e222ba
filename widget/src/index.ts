import type { QwestlyElements } from "../types/index.d.ts";
import { QwestlyActivity } from "./elements/activity.ts";
import { QwestlyApprovals } from "./elements/approvals.ts";
import { QwestlyBriefing } from "./elements/briefing.ts";
import { QwestlyChat } from "./elements/chat.ts";
import { QwestlyHome } from "./elements/home.ts";
import { QwestlyInterview } from "./elements/interview.ts";
import { QwestlyJobs } from "./elements/jobs.ts";
import { QwestlyLearning } from "./elements/learning.ts";
import { QwestlyMemories } from "./elements/memories.ts";
import { QwestlySettings } from "./elements/settings.ts";

export { setStrings } from "./strings.ts";

/** Checks that the elements implement the package's types. */
const ELEMENTS: { [Name in keyof QwestlyElements]: new () => QwestlyElements[Name] } = {
  "qwestly-activity": QwestlyActivity,
  "qwestly-approvals": QwestlyApprovals,
  "qwestly-briefing": QwestlyBriefing,
  "qwestly-chat": QwestlyChat,
  "qwestly-home": QwestlyHome,
  "qwestly-interview": QwestlyInterview,
  "qwestly-jobs": QwestlyJobs,
  "qwestly-learning": QwestlyLearning,
  "qwestly-memories": QwestlyMemories,
  "qwestly-settings": QwestlySettings,
};
for (const [name, element] of Object.entries(ELEMENTS)) customElements.define(name, element);
