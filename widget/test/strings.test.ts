import assert from "node:assert/strict";
import test from "node:test";

import { STRINGS_CHANGES, setStrings, strings } from "../src/strings.ts";
import { until } from "../src/time.ts";

test("replaced strings are read at once, and the others stay", () => {
  const [english, changes] = [strings, [] as string[]];
  STRINGS_CHANGES.addEventListener("change", () => changes.push(strings.shared.save), { once: true });
  setStrings({ shared: { save: "Speichern" }, settings: { levels: { L0: { name: "Vorschlagen" } } }, chat: { starters: ["Was weißt du über mich?"] } });
  assert.deepEqual(changes, ["Speichern"]);
  assert.deepEqual(strings, {
    ...english,
    shared: { ...english.shared, save: "Speichern" },
    settings: { ...english.settings, levels: { ...english.settings.levels, L0: { ...english.settings.levels.L0, name: "Vorschlagen" } } },
    chat: { ...english.chat, starters: ["Was weißt du über mich?"] },
  });
  assert.equal(english.shared.save, "Save");
});

test("a second replacement keeps the first", () => {
  setStrings({ shared: { edit: "Bearbeiten" } });
  setStrings({ shared: { undo: "Rückgängig" } });
  assert.deepEqual([strings.shared.edit, strings.shared.undo, strings.shared.cancel], ["Bearbeiten", "Rückgängig", "Cancel"]);
});

test("dates and times that are relative follow the locale", () => {
  const now = new Date(2025, 5, 15, 15, 6).getTime();
  setStrings({ locale: "de", time: { at: (day, time) => `${day} um ${time}`, inDaysOn: (inDays, moment) => `${inDays}, am ${moment}` } });
  const said = [48, 24, 1, 0].map((hours) => until(new Date(now + hours * 3_600_000).toISOString(), now).replace(/ um .*/, " um …"));
  assert.deepEqual(said, ["in 2 Tagen, am Dienstag, 17. Juni um …", "morgen um …", "in 60 Minuten", "jetzt"]);
});
