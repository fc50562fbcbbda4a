/**
 * The wire format of a report, and the report of a row.
 *
 * Owns the bytes: version, kind, the first half of the plan's id, report id, seed.
 */

import { type Cap, drawSeed, type Random, systemRandom } from "./cap.js";
import { ReportError } from "./errors.js";
import { SEED_BYTES } from "./generator.js";
import { checkPlan, hexadecimal, type Plan } from "./plan.js";
import { cellsOf, lift, quantize, type Row } from "./row.js";

/** The size of a report, whatever the number of columns. */
export const REPORT_BYTES = 50;

const VERSION = 1;
const CAP = 1;
const SIMULATED = 0x80;
const ID_BYTES = 16;
const PLAN_PLACE = 2;
const ID_PLACE = PLAN_PLACE + ID_BYTES;
const SEED_PLACE = ID_PLACE + ID_BYTES;

/** What is in the bytes of a report, all of it. */
export interface ReportFacts {
  /** In bytes. */
  readonly size: number;
  /** All bytes, in hexadecimal digits. */
  readonly hex: string;
  /** The first 32 digits of the id of the plan that it was made for. */
  readonly planId: string;
  /** 32 random digits, the same in a retry. */
  readonly reportId: string;
  /** The 16 bytes that were chosen with an eye on the row. */
  readonly seed: string;
  /** Made by a simulation: it promises nothing and does not count. */
  readonly simulated: boolean;
}

/**
 * Make the report of one person. Spends the budget of the plan.
 *
 * A second call is a second disclosure: use a `Device`, which keeps the report.
 */
export async function makeReport(row: Row, plan: Plan): Promise<Uint8Array> {
  checkPlan(plan);
  return reportOf(lift(quantize(cellsOf(row, plan), plan), plan.mean), plan, plan, systemRandom, false);
}

/** Make a report from a unit vector, for `makeReport` and for simulations. */
export async function reportOf(
  unit: Float64Array,
  plan: Plan,
  cap: Cap,
  random: Random,
  simulated: boolean,
): Promise<Uint8Array> {
  const report = new Uint8Array(REPORT_BYTES);
  report[0] = VERSION;
  report[1] = CAP | (simulated ? SIMULATED : 0);
  for (let i = 0; i < ID_BYTES; i++) {
    report[PLAN_PLACE + i] = parseInt(plan.id.slice(2 * i, 2 * i + 2), 16);
  }
  random(report.subarray(ID_PLACE, SEED_PLACE));
  report.set(await drawSeed(unit, cap, random), SEED_PLACE);
  return report;
}

/** Read the bytes of a report, or refuse them with `ReportError`. */
export function readReport(report: Uint8Array): ReportFacts {
  if (
    !(report instanceof Uint8Array) ||
    report.length !== SEED_PLACE + SEED_BYTES ||
    report[0] !== VERSION ||
    (report[1] & ~SIMULATED) !== CAP
  ) {
    throw new ReportError(`A report is ${REPORT_BYTES} bytes of version ${VERSION} and kind cap.`);
  }
  const hex = hexadecimal(report);
  return {
    size: report.length,
    hex,
    planId: hex.slice(2 * PLAN_PLACE, 2 * ID_PLACE),
    reportId: hex.slice(2 * ID_PLACE, 2 * SEED_PLACE),
    seed: hex.slice(2 * SEED_PLACE),
    simulated: report[1] >= SIMULATED,
  };
}
