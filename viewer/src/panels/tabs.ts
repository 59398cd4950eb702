/** Tabs with panels. Arrow keys move between tabs (https://www.w3.org/WAI/ARIA/apg/patterns/tabs/). */

export class Tabs {
  private readonly tabs: HTMLElement[];

  constructor(list: HTMLElement) {
    this.tabs = [...list.querySelectorAll<HTMLElement>("[role=tab]")];
    for (const tab of this.tabs) tab.addEventListener("click", () => this.show(panelOf(tab)));
    list.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (by === 0) return;
      const tabs = this.tabs.filter((tab) => !tab.hidden);
      const now = tabs.findIndex((tab) => tab.ariaSelected === "true");
      const to = tabs[(now + by + tabs.length) % tabs.length];
      if (!to) return;
      event.preventDefault();
      // As a click: panels that load when they are opened listen to it.
      to.click();
      to.focus();
    });
    this.show(panelOf(this.tabs[0]!));
  }

  /** The name of the shown panel. */
  get shown(): string {
    return panelOf(this.tabs.find((tab) => tab.ariaSelected === "true") ?? this.tabs[0]!);
  }

  /** Shows the panel of this name. */
  show(panel: string): void {
    for (const tab of this.tabs) {
      const shown = panelOf(tab) === panel;
      tab.ariaSelected = String(shown);
      tab.tabIndex = shown ? 0 : -1;
      const of = document.getElementById(panelOf(tab));
      if (of) of.hidden = !shown;
    }
  }
}

function panelOf(tab: HTMLElement): string {
  return tab.getAttribute("aria-controls") ?? "";
}
