/** A list of texts comes as JSON; the ids of those that are plans go out, null for the others. */

import { readFileSync } from "node:fs";

import { PlanError, readPlan } from "../dist/dpcov.js";

const ids = JSON.parse(readFileSync(0, "utf8")).map((text) =>
  readPlan(text).then(({ id }) => id, (error) => {
    if (error instanceof PlanError) return null;
    throw error;
  }));
process.stdout.write(JSON.stringify(await Promise.all(ids)));
