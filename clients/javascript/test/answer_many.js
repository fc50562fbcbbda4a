/**
 * Many people answer one plan: each with a device of their own, by the code that a browser runs.
 *
 *     node answer_many.js plan.json < rows.jsonl > reports.bin
 *     node answer_many.js plan.json --answers < answers.jsonl > reports.bin
 *
 * A line is one person. A row is a list of cells, or an object by the names of columns. Answers are a list
 * with one entry for each question, as the page takes them: a text for a number, the label
 * of an option, null for a question that is left out. Reports go out one after the other.
 */

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { Device, memoryStore, readPlan } from "../dist/dpcov.js";
import { readNumber, rowOf } from "../build/page/answers.js";
import { questionnaireOf } from "../build/page/questions.js";

const [path, flag] = process.argv.slice(2);
const plan = await readPlan(readFileSync(path, "utf8"));
const rowFrom = flag === "--answers" ? rowOfAnswers(questionnaireOf(plan).questions) : (row) => row;

/** Turn what a person typed and chose into a row, with the page's own code. */
function rowOfAnswers(questions) {
  const cellsOf = (question, given) => {
    if (given === null) return null;
    if (question.kind === "number") return [readNumber(given, question)];
    const option = question.options.find(({ label }) => label === given);
    if (!option) throw new Error("a question has no such option");
    return option.cells;
  };
  return (given) => rowOf(plan, questions, questions.map((each, i) => cellsOf(each, given[i])));
}

for await (const line of createInterface({ input: process.stdin })) {
  if (!line.trim()) continue;
  const device = new Device({ store: memoryStore() });
  const report = await device.report(rowFrom(JSON.parse(line)), plan);
  if (!process.stdout.write(report)) await once(process.stdout, "drain");
}
