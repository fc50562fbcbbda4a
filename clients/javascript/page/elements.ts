/** Elements of the page, made in one call. Text is always text: nothing is parsed as HTML. */

type Part = Node | string | null;
type Attributes = Record<string, string | boolean | EventListener>;

/** Make an element: texts and flags become attributes, functions listen to events. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...parts: Part[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...parts.filter((part) => part !== null));
  return element;
}

/** Return the element of the page with an id that page.html has. */
export function byId(id: string): HTMLElement {
  return document.getElementById(id)!;
}

/** Make a paragraph. */
export function paragraph(...parts: Part[]): HTMLElement {
  return make("p", {}, ...parts);
}

/** Make a text of others: its direction is its own, and its line breaks are kept. */
export function foreign(text: string): HTMLElement {
  return make("span", { dir: "auto", class: "foreign" }, text);
}
