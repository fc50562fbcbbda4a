/**
 * What a plan asks a person, checked before it is shown.
 *
 * Owns the shape of a study and the cells that each option of a question stands for. Without a
 * study the columns themselves are asked for, as plain numbers. Knows no elements of a page.
 */

import type { Plan } from "./dpcov.js";

/** A question that is answered with a number. */
export interface NumberQuestion {
  readonly kind: "number";
  readonly text: string;
  readonly columns: readonly string[];
  readonly low: number;
  readonly high: number;
  /** Answers are low, low + step, …; null if any number between low and high will do. */
  readonly step: number | null;
  readonly unit: string;
}

/** One of the answers to choose from, and what it puts into the columns of its question. */
export interface Option {
  readonly label: string;
  readonly cells: readonly number[];
}

/** A question that is answered by choosing one option: a scale, or a choice. */
export interface OptionsQuestion {
  readonly kind: "options";
  readonly text: string;
  readonly columns: readonly string[];
  readonly options: readonly Option[];
}

export type Question = NumberQuestion | OptionsQuestion;

/** All that a page needs of a study. */
export interface Questionnaire {
  readonly title: string;
  /** Paragraphs. */
  readonly about: readonly string[];
  readonly contact: string;
  /** Nothing is released before so many people have answered; null if nobody says so. */
  readonly minimum: number | null;
  readonly questions: readonly Question[];
}

/** The questions of a plan cannot be asked as they stand. */
export class StudyError extends Error {
  override name = "StudyError";
}

type Facts = Record<string, unknown>;

const STUDY = "about contact count_is_public minimum questions title";
const NUMBER = "column high kind low step text unit";
const SCALE = "column kind points text";
const CHOICE = "choices kind text";

/** Return what a plan asks, or refuse with `StudyError`. */
export function questionnaireOf({ study, columns }: Plan): Questionnaire {
  const names = columns.map(({ name }) => name);
  if (study === null) {
    return {
      title: "A study with private answers",
      about: [],
      contact: "",
      minimum: null,
      questions: names.map(plainNumber),
    };
  }
  const facts = withKeys(study, STUDY);
  const questions = listOf(facts.questions).map(question);
  const asked = questions.flatMap((each) => each.columns);
  if (JSON.stringify(asked.sort()) !== JSON.stringify([...names].sort())) {
    refuse("each column must belong to one question");
  }
  return {
    title: nonempty(facts.title),
    about: textOf(facts.about).split(/\n\s*\n/).map((part) => part.trim()).filter(Boolean),
    contact: textOf(facts.contact).trim(),
    minimum: numberOf(facts.minimum),
    questions,
  };
}

function plainNumber(name: string): NumberQuestion {
  const range = { low: -Number.MAX_VALUE, high: Number.MAX_VALUE, step: null };
  return { kind: "number", text: name, columns: [name], unit: "", ...range };
}

function question(value: unknown): Question {
  switch ((value as Facts | null)?.kind) {
    case "number":
      return numberQuestion(withKeys(value, NUMBER));
    case "scale":
      return scaleQuestion(withKeys(value, SCALE));
    case "choice":
      return choiceQuestion(withKeys(value, CHOICE));
    default:
      return refuse("a question has a kind that this page does not know");
  }
}

function numberQuestion(facts: Facts): NumberQuestion {
  const [low, high, step] = [facts.low, facts.high, facts.step].map(numberOf);
  if (!(low < high && step > 0)) refuse("a range is empty");
  const [text, unit, columns] = [nonempty(facts.text), textOf(facts.unit), [textOf(facts.column)]];
  return { kind: "number", text, columns, low, high, step, unit };
}

/** The points of a scale are 1, 2, … */
function scaleQuestion(facts: Facts): OptionsQuestion {
  const labels = listOf(facts.points).map(nonempty);
  return {
    kind: "options",
    text: nonempty(facts.text),
    columns: [textOf(facts.column)],
    options: distinct(labels).map((label, i) => ({ label, cells: [i + 1] })),
  };
}

/** A choice is 1 in its own column, if it has one, and 0 in those of the others. */
function choiceQuestion(facts: Facts): OptionsQuestion {
  const choices = listOf(facts.choices).map((each) => withKeys(each, "column label"));
  const columns = choices.flatMap(({ column }) => (column === null ? [] : [textOf(column)]));
  const labels = distinct(choices.map(({ label }) => nonempty(label)));
  return {
    kind: "options",
    text: nonempty(facts.text),
    columns,
    options: labels.map((label, i) => ({
      label,
      cells: columns.map((name) => Number(name === choices[i].column)),
    })),
  };
}

function distinct(labels: string[]): string[] {
  if (labels.length < 2 || new Set(labels).size < labels.length) {
    refuse("a question needs two or more answers that differ");
  }
  return labels;
}

function withKeys(value: unknown, keys: string): Facts {
  const plain = value !== null && typeof value === "object" && !Array.isArray(value);
  if (!plain || Object.keys(value).sort().join(" ") !== keys) {
    return refuse("it has missing or unknown parts");
  }
  return value as Facts;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) && value.length ? value : refuse("a list is missing or empty");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : refuse("a text is missing");
}

function nonempty(value: unknown): string {
  return textOf(value).trim() || refuse("a text is empty");
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : refuse("a number is missing");
}

function refuse(problem: string): never {
  throw new StudyError(`The questions of the plan cannot be asked: ${problem}.`);
}
