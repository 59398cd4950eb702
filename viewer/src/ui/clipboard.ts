/** Copies text. */

/** Copies a text; returns whether that succeeded. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page that is not from this machine and not encrypted has no clipboard, only the older command.
    const box = document.createElement("textarea");
    box.value = text;
    box.className = "hidden";
    const focus = document.activeElement;
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    if (focus instanceof HTMLElement) focus.focus();
    return done;
  }
}
