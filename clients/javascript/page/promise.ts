/**
 * What a report can tell, in numbers: each of them rounded up, against the study.
 *
 * Owns the arithmetic of a promise of ε: anything that can be concluded is at most e^ε times as
 * likely under any other answers, so the odds of a guess grow by e^ε at most.
 */

/** Guesses that are shown as examples, before a report is seen. */
export const GUESSES = [0.01, 0.1, 0.5, 0.9];

/** How much an ε is worth, as the pages of releases say it. */
export type Strength = "strong" | "moderate" | "weak";

const STRONG = 1;
const MODERATE = 3;
const UP = 1 + 2 ** -40; // Math.exp is as exact as an engine likes

/** Return e^ε, no less than it is. */
export function factorOf(epsilon: number): number {
  return Math.exp(epsilon) * UP;
}

/** Return how sure somebody can be at most, who was so sure before the report. */
export function afterwards(guess: number, epsilon: number): number {
  const raised = guess * factorOf(epsilon);
  return Math.min(1, (raised / (1 - guess + raised)) * UP);
}

/** Return the share of seeds of the first kind when nobody's answers are looked at. */
export function plainShare(chance: number, epsilon: number): number {
  const odds = chance / (1 - chance) / Math.exp(epsilon);
  return odds / (1 + odds);
}

export function strengthOf(epsilon: number): Strength {
  return epsilon <= STRONG ? "strong" : epsilon <= MODERATE ? "moderate" : "weak";
}

/** Write a factor with three digits, rounded up. */
export function shownFactor(factor: number): string {
  const unit = 10 ** (Math.floor(Math.log10(factor)) - 2);
  const up = Math.ceil(factor / unit) * unit;
  return Number(up.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 4 });
}

/** Write a share in percent with one digit, rounded up. */
export function shownShare(share: number): string {
  return `${Math.min(100, Math.ceil(share * 1000) / 10).toFixed(1)}\u00a0%`;
}

/** Write a chance in percent, rounded as usual: it is no bound. */
export function shownChance(chance: number): string {
  return `${Number((100 * chance).toPrecision(3)).toLocaleString("en")}\u00a0%`;
}
