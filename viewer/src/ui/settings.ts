/** Settings that the browser keeps. Without storage, such as in a page of one file in some browsers, they last as long as the page. */

/** Returns what is stored, if anything. */
export function load(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Stores a setting; an empty one is removed. */
export function store(key: string, value: string): void {
  try {
    if (value === "") localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // It lasts as long as the page.
  }
}

/** Lets a control keep its value: sets it to what is stored, if it offers that, and stores each change. */
export function keep(select: HTMLSelectElement, key: string): void {
  const stored = load(key);
  if (stored !== null && [...select.options].some((option) => option.value === stored)) select.value = stored;
  select.addEventListener("change", () => store(key, select.value));
}
