/**
 * What can go wrong, in five classes. No message holds a number of a row.
 *
 *     DpcovError
 *     ├── PlanError      the text is no plan that a device may answer
 *     ├── RowError       the row does not have the form that the plan asks for
 *     ├── ReportError    bytes are no report, or what is kept is damaged
 *     ├── BudgetError    the owner's limits forbid an answer; nothing was spent
 *     └── UploadError    the server refused the report for good
 */

export class DpcovError extends Error {
  override name = "DpcovError";
}
export class PlanError extends DpcovError {
  override name = "PlanError";
}
export class RowError extends DpcovError {
  override name = "RowError";
}
export class ReportError extends DpcovError {
  override name = "ReportError";
}
export class BudgetError extends DpcovError {
  override name = "BudgetError";
}
export class UploadError extends DpcovError {
  override name = "UploadError";
  /** The status of the server's answer. */
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}
