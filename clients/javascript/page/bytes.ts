/**
 * The 50 bytes of a report, part by part: where each stands and what it is for.
 *
 * Owns how they are shown. The parts are those of docs/protocol.md, and together they are all bytes.
 */

import type { ReportFacts } from "./dpcov.js";
import { make } from "./elements.js";

interface Part {
  readonly name: string;
  readonly hex: string;
  readonly meaning: string;
  /** Whether the answers had a say in it. */
  readonly chosen?: boolean;
}

/** Return the parts of a report, in their order. */
export function partsOf({ hex, planId, reportId, seed }: ReportFacts): Part[] {
  const head = hex.slice(0, hex.length - planId.length - reportId.length - seed.length);
  return [
    {
      name: "the seed",
      hex: seed,
      meaning: "The only bytes that were chosen with an eye on your answers.",
      chosen: true,
    },
    {
      name: "report id",
      hex: reportId,
      meaning:
        "Drawn at random, whatever you answer. It lets a report that comes twice be counted once.",
    },
    {
      name: "plan id, the first half",
      hex: planId,
      meaning: "For what was asked. It is the same for all who answer.",
    },
    { name: "form", hex: head, meaning: "Version and kind of report, the same for all." },
  ].reverse();
}

/** Show all bytes, with the seed marked. */
export function showBytes(facts: ReportFacts): HTMLElement {
  let place = 0;
  const rows = partsOf(facts).map(({ name, hex, meaning, chosen = false }) => {
    const start = place;
    place += hex.length / 2;
    return make(
      "div",
      { class: chosen ? "part seed" : "part" },
      make("dt", {}, make("b", {}, name), ` bytes ${start + 1}–${place}`),
      make("dd", {}, make(chosen ? "mark" : "code", { class: "hex" }, spaced(hex))),
      make("dd", { class: "soft" }, meaning),
    );
  });
  return make("dl", { class: "bytes" }, ...rows);
}

/** Put a space between bytes. */
function spaced(hex: string): string {
  return hex.replace(/..(?=.)/g, "$& ");
}
