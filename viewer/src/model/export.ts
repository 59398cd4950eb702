/** Tables as text, to be copied. Cells come from recordings, so that none may be read as anything but text. */

/** A text that a spreadsheet would read as a formula (https://owasp.org/www-community/attacks/CSV_Injection). */
const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^-?\d+(\.\d+)?$/;

/** Writes a table as CSV (RFC 4180). Texts that a spreadsheet would calculate begin with an apostrophe. */
export function csv(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cell = (text: string) => {
    const plain = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  return [head, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Writes a table as Markdown; columns of numbers are aligned to the right. */
export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cell = (text: string) =>
    text
      .replace(/[\r\n]+/g, " ")
      .replace(/[\\|`*_[\]]/g, (char) => `\\${char}`)
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;");
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  const numbers = head.map((_, at) => rows.length > 0 && rows.every((row) => row[at] === "" || NUMBER.test(row[at] ?? "")));
  return line(head.map(cell)) + line(numbers.map((of) => (of ? "--:" : "---"))) + rows.map((row) => line(row.map(cell))).join("");
}
