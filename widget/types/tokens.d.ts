/** Colors, light and dark, by name; the font; and all of them as the declarations of an element. */
export declare const COLORS: Readonly<Record<string, readonly [light: string, dark: string]>>;
export declare const FONT: string;
export declare const TOKENS: string;
