import { QwestlyActivity } from "./elements/activity.ts";
import { QwestlyApprovals } from "./elements/approvals.ts";
import { QwestlyBriefing } from "./elements/briefing.ts";
import { QwestlyChat } from "./elements/chat.ts";
import { QwestlyInterview } from "./elements/interview.ts";
import { QwestlyJobs } from "./elements/jobs.ts";
import { QwestlyLearning } from "./elements/learning.ts";
import { QwestlyMemories } from "./elements/memories.ts";
import { QwestlySettings } from "./elements/settings.ts";

customElements.define("qwestly-activity", QwestlyActivity);
customElements.define("qwestly-approvals", QwestlyApprovals);
customElements.define("qwestly-briefing", QwestlyBriefing);
customElements.define("qwestly-chat", QwestlyChat);
customElements.define("qwestly-interview", QwestlyInterview);
customElements.define("qwestly-jobs", QwestlyJobs);
customElements.define("qwestly-learning", QwestlyLearning);
customElements.define("qwestly-memories", QwestlyMemories);
customElements.define("qwestly-settings", QwestlySettings);
