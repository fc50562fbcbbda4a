/** Reports of dpcov's local model, made where the answers are: in the browser. */

export { Device, type DeviceOptions, type Pending } from "./device.js";
export {
  BudgetError,
  DpcovError,
  PlanError,
  ReportError,
  RowError,
  UploadError,
} from "./errors.js";
export { type Column, type Plan, readPlan } from "./plan.js";
export { makeReport, readReport, type ReportFacts } from "./report.js";
export type { Row } from "./row.js";
export { browserStore, type Kept, memoryStore, type Store } from "./stores.js";
export type { UploadOptions } from "./upload.js";
