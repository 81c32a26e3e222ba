/** The elements in JSX, for React 19: `import type {} from "@qwestly/agent-widget/jsx"`. */

import type { HTMLAttributes, Ref } from "react";

import type { QwestlyElements } from "./index.js";

interface Attributes {
  endpoint?: string;
  "token-url"?: string;
  getToken?: () => Promise<string>;
  "brand-color"?: string;
  "brand-name"?: string;
  "brand-logo"?: string;
}
interface ChatAttributes {
  "agent-role"?: "interview" | "onboarding";
  conversation?: string;
}
interface JobsAttributes {
  "no-tabs"?: boolean;
}

declare module "react" {
  namespace JSX {
    interface IntrinsicElements extends QwestlyJsx {}
  }
}
type QwestlyJsx = {
  [Name in keyof QwestlyElements]: HTMLAttributes<QwestlyElements[Name]> &
    Attributes & (Name extends "qwestly-chat" ? ChatAttributes : Name extends "qwestly-jobs" ? JobsAttributes : unknown) & { ref?: Ref<QwestlyElements[Name]> };
};
