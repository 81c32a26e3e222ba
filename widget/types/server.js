/** Where there is no page there are no elements: a server that renders one imports nothing. */
export function setStrings() {}
