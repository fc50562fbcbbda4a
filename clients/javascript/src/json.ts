/**
 * JSON, read strictly: a key that stands twice is refused, and 2 is not 2.0.
 *
 * Owns the grammar and the limits, not what a text says. JSON.parse keeps the last of two
 * equal keys and forgets how a number was written, so that a device and a collector could
 * read two plans in one text. Whole numbers become bigint, others number, objects Map.
 */

export type Json = null | boolean | string | number | bigint | Json[] | Map<string, Json>;

const MOST_CHARACTERS = 16 << 20;
const MOST_DIGITS = 1000;

const TOKEN =
  /[ \t\n\r]*(?:([[\]{},:]|true|false|null)|("[^"\\\0-\x1f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\0-\x1f]*)*")|(-?(?:0|[1-9]\d*))((?:\.\d+)?(?:[eE][-+]?\d+)?))/y;

function fail(): never {
  throw new SyntaxError();
}

/** Return the value of a text that is nested at most `mostDeep`, or throw. */
export function readJson(text: string, mostDeep: number): Json {
  if (text.length > MOST_CHARACTERS) fail();
  let place = 0;
  let found: RegExpExecArray;

  function next(): string {
    TOKEN.lastIndex = place;
    found = TOKEN.exec(text) ?? fail();
    place = TOKEN.lastIndex;
    return found[1] ?? "";
  }

  /** Read what stands between brackets, parts with commas between them. */
  function parts(close: string, read: () => void): void {
    const before = place;
    if (next() === close) return;
    place = before;
    for (;;) {
      read();
      const mark = next();
      if (mark === close) return;
      if (mark !== ",") fail();
    }
  }

  function value(depth: number): Json {
    const mark = next();
    if (found[2] !== undefined) return JSON.parse(found[2]) as string;
    if (found[3] !== undefined) {
      const [, , , whole, rest] = found;
      if (whole.length + rest.length > MOST_DIGITS) fail();
      return rest ? Number(whole + rest) : BigInt(whole);
    }
    if (mark.length > 1) return JSON.parse(mark) as null | boolean;
    if (depth >= mostDeep) fail();
    if (mark === "[") {
      const list: Json[] = [];
      parts("]", () => list.push(value(depth + 1)));
      return list;
    }
    if (mark !== "{") fail();
    const facts = new Map<string, Json>();
    parts("}", () => {
      next();
      if (found[2] === undefined) fail();
      const key = JSON.parse(found[2]) as string;
      if (facts.has(key) || next() !== ":") fail();
      facts.set(key, value(depth + 1));
    });
    return facts;
  }

  const result = value(0);
  if (/[^ \t\n\r]/.test(text.slice(place))) fail();
  return result;
}
