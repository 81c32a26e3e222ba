import { QwestlyActivity } from "./elements/activity.ts";
import { QwestlyApprovals } from "./elements/approvals.ts";
import { QwestlyBriefing } from "./elements/briefing.ts";
import { QwestlyChat } from "./elements/chat.ts";
import { QwestlyMemories } from "./elements/memories.ts";
import { QwestlySettings } from "./elements/settings.ts";

customElements.define("qwestly-activity", QwestlyActivity);
customElements.define("qwestly-approvals", QwestlyApprovals);
customElements.define("qwestly-briefing", QwestlyBriefing);
customElements.define("qwestly-chat", QwestlyChat);
customElements.define("qwestly-memories", QwestlyMemories);
customElements.define("qwestly-settings", QwestlySettings);
