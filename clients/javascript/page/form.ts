/**
 * The questions as a form: fields with names, hints and errors that assistive technology finds.
 *
 * Owns the fields and what is said beside them. An answer is read when the form is sent, and
 * lives in the fields alone until then.
 */

import { type Answer, AnswerProblem, rangeOf, readNumber } from "./answers.js";
import { foreign, make } from "./elements.js";
import type { NumberQuestion, OptionsQuestion, Question } from "./questions.js";
import { RATHER_NOT } from "./words.js";

/** A question on the page. */
interface Field {
  readonly node: HTMLElement;
  /** What gets the focus when something is wrong. */
  readonly first: HTMLElement;
  readonly problem: HTMLElement;
  /** Return the answer, or throw `AnswerProblem`. */
  read(): Answer;
}

/** Make the form; `done` gets the answers when all of them will do. */
export function makeForm(
  questions: readonly Question[],
  button: HTMLButtonElement,
  done: (answers: Answer[]) => void,
): HTMLFormElement {
  const fields = questions.map((question, i) => fieldOf(question, `question-${i + 1}`));
  const alarm = make("div", { role: "alert", class: "summary" });
  const form = make(
    "form",
    { novalidate: true, autocomplete: "off" },
    ...fields.map(({ node }) => node),
    alarm,
    make("p", { class: "buttons" }, button),
  );
  for (const field of fields) field.node.addEventListener("input", () => tell(field, ""));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answers = readAll(fields, alarm);
    if (answers) done(answers);
  });
  return form;
}

/** Read all fields; say what is wrong, at each of them and in sum, and return nothing then. */
function readAll(fields: readonly Field[], alarm: HTMLElement): Answer[] | null {
  const wrong: Field[] = [];
  const answers = fields.map((field) => {
    const problem = problemOf(field);
    if (problem) wrong.push(field);
    tell(field, problem);
    return problem ? null : field.read();
  });
  alarm.textContent = summary(wrong.length);
  wrong[0]?.first.focus();
  return wrong.length ? null : answers;
}

/** Say what is wrong with an answer, or that nothing is. */
function tell({ node, first, problem }: Field, said: string): void {
  problem.textContent = said;
  node.classList.toggle("wrong", said !== "");
  if (said) first.setAttribute("aria-invalid", "true");
  else first.removeAttribute("aria-invalid");
}

function problemOf(field: Field): string {
  try {
    field.read();
    return "";
  } catch (problem) {
    if (problem instanceof AnswerProblem) return problem.message;
    throw problem;
  }
}

function summary(count: number): string {
  if (!count) return "";
  return count === 1
    ? "One question needs another look. Nothing was made."
    : `${count} questions need another look. Nothing was made.`;
}

function fieldOf(question: Question, id: string): Field {
  return question.kind === "number" ? numberField(question, id) : optionsField(question, id);
}

function numberField(question: NumberQuestion, id: string): Field {
  const range = rangeOf(question);
  const problem = make("span", { class: "problem", id: `${id}-problem` });
  const input = make("input", {
    id,
    type: "text",
    inputmode: question.low < 0 ? "text" : "decimal", // phones have no minus among decimals
    autocomplete: "off",
    "aria-describedby": `${range ? `${id}-range ` : ""}${id}-problem`,
  });
  const not = make("input", {
    type: "checkbox",
    change: () => {
      input.disabled = not.checked;
    },
  });
  const node = make(
    "fieldset",
    { class: "question" },
    make("legend", {}, make("label", { for: id }, foreign(question.text))),
    range ? make("p", { class: "soft", id: `${id}-range` }, range) : null,
    make("p", { class: "entry" }, input, question.unit ? make("span", {}, question.unit) : null),
    make("label", { class: "option not" }, not, make("span", {}, RATHER_NOT)),
    problem,
  );
  return {
    node,
    first: input,
    problem,
    read: () => (not.checked ? null : [readNumber(input.value, question)]),
  };
}

function optionsField({ text, options }: OptionsQuestion, id: string): Field {
  const problem = make("span", { class: "problem", id: `${id}-problem` });
  const radios: HTMLInputElement[] = [];
  const choice = (label: Node, kind = "option") => {
    const described = { "aria-describedby": `${id}-problem` };
    const radio = make("input", { type: "radio", name: id, id: `${id}-${radios.length}`, ...described });
    radios.push(radio);
    return make("label", { class: kind }, radio, label);
  };
  const node = make(
    "fieldset",
    { class: "question" },
    make("legend", {}, foreign(text)),
    ...options.map(({ label }) => choice(foreign(label))),
    choice(make("span", {}, RATHER_NOT), "option not"),
    problem,
  );
  return {
    node,
    first: radios[0],
    problem,
    read() {
      const chosen = radios.findIndex(({ checked }) => checked);
      if (chosen < 0) {
        throw new AnswerProblem("Choose an answer, or say that you would rather not answer.");
      }
      return options[chosen]?.cells ?? null; // the last one is not to answer
    },
  };
}
