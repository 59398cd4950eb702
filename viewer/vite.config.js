import { createHash } from "node:crypto";
import { defineConfig } from "vite";

/**
 * Builds `alone.html`, the page that needs no server: it contains its scripts and styles, and its policy allows no requests.
 * The server replaces the comment `data` with the data of a trace.
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
    const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
    const [scripts, styles] = [[], []];
    let page = String(bundle["index.html"].source);
    page = page.replace(/\s*<link rel="icon"[^>]*>/, "");
    page = page.replace(/<link rel="stylesheet"[^>]*href="([^"]+)"[^>]*>/g, (_, name) => {
      styles.push(hash(text(name)));
      return `<style>${text(name)}</style>`;
    });
    page = page.replace(/\s*<script type="module"[^>]*src="([^"]+)"[^>]*><\/script>/g, (_, name) => {
      if (/<\/script|<!--/i.test(text(name))) throw new Error(`${name} contains text that would end a script element`);
      scripts.push([text(name), hash(text(name))]);
      return "";
    });
    if (scripts.length !== 1 || styles.length === 0) throw new Error("the page must have exactly one script, and styles");
    const policy = `default-src 'none'; script-src ${scripts.map(([, of]) => of).join(" ")}; style-src ${styles.join(" ")}; base-uri 'none'; form-action 'none'`;
    // A function, so that `$&` in the code is not treated as a pattern.
    page = page.replace(/<meta charset="utf-8" \/>/, (found) => `${found}\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`);
    page = page.replace("</body>", () => `<!-- data -->\n    <script type="module">${scripts[0][0]}</script>\n  </body>`);
    this.emitFile({ type: "asset", fileName: "alone.html", source: page });
  },
};

// The server's security policy allows only its own files: no inline scripts, no data addresses.
export default defineConfig({
  base: "/",
  plugins: [alone],
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
});
