import { createHash } from "node:crypto";
import { defineConfig } from "vite";

/**
 * The page that needs no server, `alone.html`: scripts and styles within it, and a policy that lets in nothing else and asks for nothing.
 * The server puts the data of a trace where the comment stands.
 */
const alone = {
  name: "alone",
  enforce: "post",
  generateBundle(_, bundle) {
    const files = Object.values(bundle);
    const text = (name) => {
      const file = files.find((file) => name === `/${file.fileName}`);
      return String(file.code ?? file.source);
    };
    const hash = (words) => `'sha256-${createHash("sha256").update(words).digest("base64")}'`;
    const [scripts, styles] = [[], []];
    let page = String(bundle["index.html"].source);
    page = page.replace(/\s*<link rel="icon"[^>]*>/, "");
    page = page.replace(/<link rel="stylesheet"[^>]*href="([^"]+)"[^>]*>/g, (_, name) => {
      styles.push(hash(text(name)));
      return `<style>${text(name)}</style>`;
    });
    page = page.replace(/\s*<script type="module"[^>]*src="([^"]+)"[^>]*><\/script>/g, (_, name) => {
      if (/<\/script|<!--/i.test(text(name))) throw new Error(`${name} holds what ends a script within a page`);
      scripts.push([text(name), hash(text(name))]);
      return "";
    });
    if (scripts.length !== 1 || styles.length === 0) throw new Error("the page is not one script and its styles");
    const policy = `default-src 'none'; script-src ${scripts.map(([, of]) => of).join(" ")}; style-src ${styles.join(" ")}; base-uri 'none'; form-action 'none'`;
    // A function: `$&` in the code must not be read as a pattern.
    page = page.replace(/<meta charset="utf-8" \/>/, (found) => `${found}\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`);
    page = page.replace("</body>", () => `<!-- data -->\n    <script type="module">${scripts[0][0]}</script>\n  </body>`);
    this.emitFile({ type: "asset", fileName: "alone.html", source: page });
  },
};

// The server's security policy lets nothing in that is not a file of our own: no inline scripts, no data addresses.
export default defineConfig({
  base: "/",
  plugins: [alone],
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
});
