/**
 * From what a person typed or chose to the row of a report, or to what is wrong with it.
 *
 * Owns the reading of numbers as people write them, their range and step, and the order of the
 * cells. Keeps nothing.
 */

import type { Plan } from "./dpcov.js";
import type { NumberQuestion, Question } from "./questions.js";

/** The cells of one question, in the order of its columns; null if it was left out. */
export type Answer = readonly number[] | null;

/** What is wrong with an answer, in a sentence for the person who gave it. */
export class AnswerProblem extends Error {
  override name = "AnswerProblem";
}

// 1,500 may be one and a half, or one thousand and five hundred: nobody can tell.
const AMBIGUOUS = /^[-+]?[1-9]\d{0,2}(?:[,' \u00a0\u2009\u202f]\d{3})+$/;
const NUMBER = /^[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][-+]?\d+)?$/;
const STEP_ERROR = 1e-6; // of a step, for 0.1 + 0.2

/** Read a number that a person wrote, or throw `AnswerProblem`. */
export function readNumber(written: string, question: NumberQuestion): number {
  const text = written.trim().replace(/^\u2212/, "-");
  if (!text) throw new AnswerProblem("Give a number, or say that you would rather not answer.");
  if (AMBIGUOUS.test(text)) {
    throw new AnswerProblem("Write the number without marks between thousands.");
  }
  const x = NUMBER.test(text) ? Number(text.replace(",", ".")) : NaN;
  if (!Number.isFinite(x)) throw new AnswerProblem("This is not a number.");
  const { low, high, step } = question;
  if (x < low || x > high) {
    throw new AnswerProblem(`The number must be from ${shown(low)} to ${shown(high)}.`);
  }
  if (step !== null && offStep(x, low, step)) throw new AnswerProblem(stepsOf(question));
  return x;
}

/** Say which numbers a question takes, or nothing if it takes all. */
export function rangeOf({ low, high, step, unit }: NumberQuestion): string {
  if (step === null) return "";
  const range = `${shown(low)} to ${shown(high)}${unit && ` ${unit}`}`;
  if (step === 1 && Number.isInteger(low)) return `${range}, a whole number`;
  return `${range}, in steps of ${shown(step)}`;
}

/** Return the row of a person, in the order of the plan, null where a question was left out. */
export function rowOf(
  plan: Plan,
  questions: readonly Question[],
  answers: readonly Answer[],
): (number | null)[] {
  const cells = new Map<string, number | null>();
  questions.forEach(({ columns }, i) =>
    columns.forEach((name, k) => cells.set(name, answers[i]?.[k] ?? null)),
  );
  return plan.columns.map(({ name }) => cells.get(name) ?? null);
}

function offStep(x: number, low: number, step: number): boolean {
  const steps = (x - low) / step;
  return Math.abs(steps - Math.round(steps)) > STEP_ERROR;
}

function stepsOf({ low, step }: NumberQuestion): string {
  return step === 1 && Number.isInteger(low)
    ? "Give a whole number."
    : `The number must be ${shown(low)} or whole steps of ${shown(step ?? 1)} above it.`;
}

/** Write a number plainly: no marks between thousands, which a reader would type back. */
function shown(x: number): string {
  return String(x).replace("-", "\u2212");
}
