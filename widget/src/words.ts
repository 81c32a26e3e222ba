/** Identifiers as readable words. */

/** "startDate" and "start_date" are "Start date". */
export function sentenceCase(name: string): string {
  const words = name.replaceAll(/[_-]+/g, " ").replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
