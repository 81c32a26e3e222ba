/** What `npm run check` proves of the package's types: it compiles, and each expected error is one. */

import { type Strings, setStrings } from "@qwestly/agent-widget";

setStrings({ locale: "de", shared: { save: "Speichern" }, activity: { steps: (count) => (count === 1 ? "1 Schritt" : `${count} Schritte`) } });
export const save: Strings["shared"]["save"] = "Speichern";
// @ts-expect-error there is no such string
setStrings({ shared: { saved_: "Gespeichert." } });
// @ts-expect-error there is no such group
setStrings({ nothing: {} });
// @ts-expect-error it takes a number
setStrings({ activity: { steps: (count: Date) => count.toISOString() } });
// @ts-expect-error it is a function
setStrings({ activity: { steps: "Schritte" } });
