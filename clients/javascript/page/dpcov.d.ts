/** The client beside the page, `./dpcov.js`: loaded by the browser as it is, not bundled again. */

export * from "../dist/types/index.js";
