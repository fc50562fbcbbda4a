/**
 * The collection plan: what a server publishes and a device obeys.
 *
 * Owns the reading of its text and its id. A text is a plan only if every part is there and
 * nothing else, its constants pay for the promise that it states, and its id is that of its
 * contents. This client makes cap reports alone: plans with a δ are refused.
 */

import { pattern } from "./arithmetic.js";
import { PlanError } from "./errors.js";
import { type Json, readJson } from "./json.js";
import { capEpsilon, COIN, MOST_COLUMNS, shareInside, steadyTries } from "./payment.js";

/** A question of the plan. Working units are (x − center) / scale. */
export interface Column {
  readonly name: string;
  readonly center: number;
  readonly scale: number;
}

const FORMAT = "dpcov collection plan";
const VERSION = 2n;
const DEEPEST = 6; // a plan, its study, questions, one of them, its choices, one of them
const LEAST_POSITIVE = 5e-324;
const MOST_EPSILON = 20;

type Facts = Map<string, Json>;

/** A plan that was read and found to keep its promise; `readPlan` makes it. */
export interface Plan {
  /** The SHA-256 digest of the canonical form, in hexadecimal digits. */
  readonly id: string;
  readonly columns: readonly Column[];
  /** Rows are clipped to this Euclidean norm, in working units. */
  readonly rowNorm: number;
  /** What one report spends. */
  readonly epsilon: number;
  /** Whether a missing cell is read as the column's center, or the row is refused. */
  readonly missing: "center" | "refuse";
  /** Whether reports hold the mean, by a constant cell. */
  readonly mean: boolean;
  /** What a page asks and says, as it stands in the text, frozen; null if there is none. */
  readonly study: unknown;
  /** How far out a seed must lie to be in the cap of a row. */
  readonly threshold: number;
  /** The probability to send a seed of the cap, times 2^32. */
  readonly coin: number;
  /** How many seeds a device looks at for one report. */
  readonly tries: number;
}

const plansThatWereRead = new WeakSet<Plan>();

/** Refuse what is not a plan that `readPlan` made. */
export function checkPlan(plan: Plan): void {
  if (!plansThatWereRead.has(plan)) {
    throw new PlanError("plan must come from readPlan.");
  }
}

/**
 * Read the text of a plan, or refuse it with `PlanError`.
 *
 * @param text what the server published
 */
export async function readPlan(text: string): Promise<Plan> {
  const facts = parse(text);
  const stated = facts.get("id");
  facts.delete("id");
  const checked = check(facts);
  const id = await digest(canonicalForm(facts));
  if (stated !== id) refuse("Its id is not that of its contents.");
  const plan = Object.freeze({
    ...checked,
    id,
    // Read again in a plain form, now that the strict reading has found one meaning in it.
    study: JSON.parse(text, (_, value) => Object.freeze(value)).study ?? null,
    tries: steadyTries(checked.threshold),
  });
  plansThatWereRead.add(plan);
  return plan;
}

/**
 * The text that the id is the digest of: sorted keys, no spaces, reals as their patterns.
 *
 * Of facts that were checked: reals that may be written as integers are numbers by then.
 */
export function canonicalForm(value: Json): string {
  if (value instanceof Map) {
    const keys = [...value.keys()].sort();
    return `{${keys.map((key) => `${canonicalForm(key)}:${canonicalForm(value.get(key)!)}`)}}`;
  }
  if (Array.isArray(value)) return `[${value.map(canonicalForm)}]`;
  if (typeof value === "bigint") return `${value}`;
  // Adding zero turns −0 into 0: one number, one id.
  if (typeof value === "number") return isFinite(value) ? `"${pattern(value + 0)}"` : wrongParts();
  // A half of a surrogate pair is no Unicode, and no other language could write it.
  return /\p{Cs}/u.test(`${value}`) ? wrongParts() : JSON.stringify(value);
}

async function digest(text: string): Promise<string> {
  if (!globalThis.crypto?.subtle) {
    throw new PlanError("The browser has no WebCrypto here; open the page with https.");
  }
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return hexadecimal(new Uint8Array(hash));
}

/** Return bytes as hexadecimal digits. */
export function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function parse(text: unknown): Facts {
  let facts: Json = null;
  try {
    if (typeof text === "string") facts = readJson(text, DEEPEST);
  } catch {
    // What a parser says about a text is of no use to the reader of a page.
  }
  if (!(facts instanceof Map) || facts.get("format") !== FORMAT) {
    throw new PlanError("The text is not a collection plan.");
  }
  const version = facts.get("version");
  if (typeof version === "bigint" && version > VERSION) {
    throw new PlanError(`The plan has a later version than ${VERSION}; load a newer client.`);
  }
  if (version !== VERSION) wrongParts();
  const mean = facts.get("mean") === true ? "mean," : "";
  const study = facts.get("study") instanceof Map ? "study," : "";
  return withKeys(
    facts,
    `columns,constants,delta,epsilon,format,id,${mean}mechanism,missing,row_norm,${study}version`,
  );
}

/** Check the facts of a plan, and make numbers of reals that are written as integers. */
export function check(facts: Facts): Omit<Plan, "tries" | "id" | "study"> {
  if (facts.get("mechanism") !== "cap" || facts.get("delta") !== null) {
    refuse("This client answers plans with a pure promise alone.");
  }
  const missing = facts.get("missing");
  if (missing !== "center" && missing !== "refuse") return wrongParts();
  const listed = facts.get("columns");
  const columns = Object.freeze(Array.isArray(listed) ? listed.map(column) : []);
  const names = new Set(columns.map(({ name }) => name));
  if (!names.size || names.size < columns.length || names.size > MOST_COLUMNS) {
    refuse(`columns must be 1 to ${MOST_COLUMNS} names that differ.`);
  }
  const mean = facts.has("mean");
  const rowNorm = real("row_norm", facts, 1e-20, 1e20);
  const epsilon = real("epsilon", facts, LEAST_POSITIVE, MOST_EPSILON);
  const constants = withKeys(facts.get("constants"), "coin,threshold");
  const threshold = real("threshold", constants, 0.5, 3);
  const whole = constants.get("coin");
  const coin = Number(whole);
  if (typeof whole !== "bigint") wrongParts();
  if (
    !(coin > COIN * shareInside(threshold)) ||
    coin >= COIN ||
    !(capEpsilon(threshold, coin, columns.length + +mean) <= epsilon)
  ) {
    refuse("The constants of the plan do not pay for its promise.");
  }
  return { columns, rowNorm, epsilon, missing, mean, threshold, coin };
}

function column(value: Json): Column {
  const facts = withKeys(value, "center,name,scale");
  const name = facts.get("name");
  if (typeof name !== "string") return wrongParts();
  return Object.freeze({
    name,
    center: real("center", facts, -1e100, 1e100),
    scale: real("scale", facts, 1e-100, 1e100),
  });
}

function withKeys(value: Json | undefined, keys: string): Facts {
  return value instanceof Map && [...value.keys()].sort().join() === keys
    ? value
    : wrongParts();
}

/** Return a number within bounds, and note it as one: 2 and 2.0 are the same real. */
function real(name: string, facts: Facts, low: number, high: number): number {
  const value = facts.get(name);
  // Adding zero turns −0 into 0: one number, one id.
  const x = typeof value === "number" || typeof value === "bigint" ? Number(value) + 0 : NaN;
  facts.set(name, x);
  return x >= low && x <= high ? x : refuse(`${name} must be a number in [${low}, ${high}].`);
}

function wrongParts(): never {
  refuse("It has missing or unknown parts, or parts of the wrong kind.");
}

function refuse(problem: string): never {
  throw new PlanError(`The text cannot be read as a collection plan. ${problem}`);
}
