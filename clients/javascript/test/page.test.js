/** The page's own reading of studies and answers, its numbers, and the files that are shipped. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { readPlan } from "../dist/dpcov.js";
import { AnswerProblem, rangeOf, readNumber, rowOf } from "../build/page/answers.js";
import { partsOf } from "../build/page/bytes.js";
import * as promise from "../build/page/promise.js";
import { questionnaireOf, StudyError } from "../build/page/questions.js";
import * as words from "../build/page/words.js";
import { shareInside } from "../build/payment.js";
import { planText, VECTORS } from "./vectors.js";

const PLAN = await readPlan(VECTORS.studies[0].json);
const ASKED = questionnaireOf(PLAN);

test("what is shipped is what the sources give", () => {
  const made = new URL("../dist/page/", import.meta.url);
  const shipped = new URL("../../../src/dpcov/collect/static/", import.meta.url);
  const names = readdirSync(made).sort();
  assert.deepEqual(readdirSync(shipped).sort(), names, "npm run ship");
  for (const name of names) {
    const same = readFileSync(new URL(name, made)).equals(readFileSync(new URL(name, shipped)));
    assert.ok(same, `${name} is not what the sources give: npm run ship`);
  }
});

test("the page loads the client beside it, and asks for nothing but a plan", () => {
  const read = (name) => readFileSync(new URL(`../dist/page/${name}`, import.meta.url), "utf8");
  const script = read("page.js");
  assert.deepEqual([...new Set(script.match(/\bfrom\s?"[^"]*"/g))], ['from"./dpcov.js"']);
  assert.equal(script.match(/\bfetch\(/g).length, 1);
  assert.doesNotMatch(script, /https?:\/\/|innerHTML|\beval\b|cookie\b|sendBeacon|WebSocket/);
  assert.doesNotMatch(read("page.css"), /url\(|@import/);
  assert.doesNotMatch(read("page.html"), /https?:|\sstyle=|<style|\son\w+=|<script>/);
});

test("questions come with the cells that their options stand for", () => {
  const [age, sleep, smoke] = ASKED.questions;
  assert.deepEqual([age.low, age.high, age.step, age.unit], [18, 110, 1, "years"]);
  assert.deepEqual(sleep.options.map(({ cells }) => cells), [[1], [2], [3], [4], [5]]);
  assert.deepEqual(smoke.columns, ["smokes", "smoked"]);
  assert.deepEqual(smoke.options.map(({ cells }) => cells), [[0, 0], [1, 0], [0, 1]]);
  assert.deepEqual(ASKED.about, ["Who asks, and why.", "A second paragraph: what you agree to."]);
});

test("without a study the columns are asked for as plain numbers", async () => {
  const { questions, minimum } = questionnaireOf(await readPlan(planText()));
  assert.deepEqual(questions.map(({ kind, text, columns }) => [kind, text, columns]),
    [["number", "a", ["a"]], ["number", "b", ["b"]]]);
  assert.equal(rangeOf(questions[0]), "");
  assert.equal(readNumber("-1e300", questions[0]), -1e300);
  assert.equal(minimum, null);
});

const study = () => structuredClone(PLAN.study);
const changes = {
  "no study but a text": () => "x",
  "an unknown key": (s) => ({ ...s, note: "x" }),
  "a missing key": ({ contact, ...s }) => s,
  "no questions": (s) => ({ ...s, questions: [] }),
  "an empty title": (s) => ({ ...s, title: " " }),
  "an unknown kind": (s) => (s.questions[0].kind = "essay", s),
  "a kind that every object has": (s) => (s.questions[0].kind = "constructor", s),
  "an unknown key of a question": (s) => (s.questions[1].note = 1, s),
  "an empty range": (s) => (s.questions[0].high = 18, s),
  "a step of zero": (s) => (s.questions[0].step = 0, s),
  "a bound that is a text": (s) => (s.questions[0].low = "18", s),
  "one point": (s) => (s.questions[1].points = ["never"], s),
  "equal points": (s) => (s.questions[1].points = ["never", "never"], s),
  "a label that is a number": (s) => (s.questions[2].choices[0].label = 1, s),
  "a column that is asked for twice": (s) => (s.questions[2].choices[0].column = "age", s),
  "a column that is not asked for": (s) => (s.questions.pop(), s),
  "a column that the plan does not have": (s) => (s.questions[0].column = "size", s),
  "null as a question": (s) => (s.questions[0] = null, s),
};
for (const [name, change] of Object.entries(changes)) {
  test(`a study with ${name} is not asked`, () => {
    assert.throws(() => questionnaireOf({ ...PLAN, study: change(study()) }), StudyError);
  });
}

const NUMBER = { kind: "number", columns: ["x"], text: "?", low: -5, high: 2000, step: 0.1, unit: "" };

for (const [written, x] of [["41", 41], [" 0.3 ", 0.3], ["0,3", 0.3], ["1.5", 1.5], ["\u22122", -2],
  ["+2", 2], ["1e3", 1000], [".5", 0.5], ["5.", 5], ["0,100", 0.1], ["1.500", 1.5], ["-5", -5], ["2000", 2000]]) {
  test(`"${written}" is the number ${x}`, () => assert.equal(readNumber(written, NUMBER), x));
}

for (const [written, problem] of [["", /Give a number/], ["  ", /Give a number/], ["1,500", /thousands/],
  ["1 500", /thousands/], ["1'500", /thousands/], ["forty", /not a number/], ["1e999", /not a number/],
  ["0x10", /not a number/], ["1-2", /not a number/], ["Infinity", /not a number/], ["٣", /not a number/],
  ["-5.1", /from \u22125 to 2000/], ["2000.1", /from/], ["0.25", /steps of 0.1/]]) {
  test(`"${written}" is refused in a sentence`, () => {
    assert.throws(() => readNumber(written, NUMBER), (error) =>
      error instanceof AnswerProblem && problem.test(error.message));
  });
}

test("whole numbers are asked for in these words", () => {
  const [age] = ASKED.questions;
  assert.equal(rangeOf(age), "18 to 110 years, a whole number");
  assert.throws(() => readNumber("41.5", age), /Give a whole number/);
});

test("what is wrong with an answer does not repeat it", () => {
  for (const written of ["17", "999999", "secret", "41.777"]) {
    assert.throws(() => readNumber(written, ASKED.questions[0]), (error) => !error.message.includes(written));
  }
});

test("a row is in the order of the plan, null where a question was left out", () => {
  const plan = { columns: ["smoked", "age", "bad_sleep", "smokes"].map((name) => ({ name })) };
  assert.deepEqual(rowOf(plan, ASKED.questions, [[41], [2], [0, 1]]), [1, 41, 2, 0]);
  assert.deepEqual(rowOf(plan, ASKED.questions, [null, [2], null]), [null, null, 2, null]);
});

test("a column may have a name that every object has", () => {
  const plan = { columns: [{ name: "__proto__" }] };
  assert.deepEqual(rowOf(plan, [{ columns: ["__proto__"] }], [[7]]), [7]);
});

test("bounds are rounded up, and are those of the promise", () => {
  for (const epsilon of [1e-6, 0.1, 0.5, 1, 2, 4, 10, 20]) {
    const factor = Number(promise.shownFactor(promise.factorOf(epsilon)).replaceAll(",", ""));
    assert.ok(factor >= Math.exp(epsilon) && factor <= Math.exp(epsilon) * 1.01 + 1e-9, `${factor}`);
    for (const guess of promise.GUESSES) {
      const exact = guess * Math.exp(epsilon) / (1 - guess + guess * Math.exp(epsilon));
      const shown = parseFloat(promise.shownShare(promise.afterwards(guess, epsilon))) / 100;
      assert.ok(shown >= Math.min(exact, 1) && shown <= exact + 0.0011, `${shown} ${exact}`);
    }
  }
  assert.deepEqual([0.5, 1, 2, 3, 4].map(promise.strengthOf),
    ["strong", "strong", "moderate", "moderate", "weak"]);
});

test("the promise in words has the numbers of its epsilon", () => {
  assert.equal(words.promiseOf(PLAN), "Whatever you answer, anything that can be concluded from your " +
    "report would have been at most 7.39 times as likely with any other answers.");
  assert.match(words.boundOn(0.5, PLAN), /for 50\u00a0% likely can take it for 88\.1\u00a0% likely/);
  assert.match(words.togetherOf(1, PLAN), /ε\u00a0=\u00a03 in all: .* at most 20\.1 times/);
  assert.equal(words.togetherOf(0, PLAN), "");
});

test("a weak promise is called weak, and warns", () => {
  assert.deepEqual([words.headingOfPromise({ epsilon: 5 }), words.warningOf(PLAN)], ["A weak promise", ""]);
  assert.match(words.warningOf({ epsilon: 5 }), /almost sure/);
});

test("the share of seeds of the first kind is that of the mechanism", () => {
  const share = promise.plainShare(PLAN.coin / 2 ** 32, PLAN.epsilon);
  assert.ok(Math.abs(share - shareInside(PLAN.threshold)) < 1e-6);
});

test("the parts of a report are all of its bytes", () => {
  const facts = { hex: "0101" + "a".repeat(32) + "b".repeat(32) + "c".repeat(32),
    planId: "a".repeat(32), reportId: "b".repeat(32), seed: "c".repeat(32) };
  const parts = partsOf(facts);
  assert.equal(parts.map(({ hex }) => hex).join(""), facts.hex);
  assert.deepEqual(parts.filter(({ chosen }) => chosen).map(({ hex }) => hex), [facts.seed]);
});

for (const status of [400, 409, 410, 413, 415, 422]) {
  test(`a refusal with status ${status} is told, and that the report was not counted`, () => {
    assert.match(words.refusalOf(status, ""), /not counted/);
    assert.match(words.refusalOf(status, "a@b.c"), /You can ask: a@b\.c\.$/);
  });
}
