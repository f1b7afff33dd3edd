import { sanitizedMath } from "../../shell/sanitize";

/** Draw the formulas inside an element as MathML, which needs neither fonts nor styles. KaTeX is fetched for the first. */
export async function drawFormulas(element: Element): Promise<void> {
  const formulas = element.querySelectorAll("code.formula");
  if (!formulas.length) return;
  const { default: katex } = await import("katex");
  for (const formula of formulas) {
    const tex = formula.textContent ?? "";
    try {
      const displayMode = formula.classList.contains("display");
      const drawn = document.createElement("span");
      drawn.className = formula.className;
      drawn.innerHTML = sanitizedMath(
        katex.renderToString(tex, { displayMode, output: "mathml", trust: false }),
      );
      formula.replaceWith(drawn);
    } catch {
      // a formula that KaTeX does not understand stays as it was written
    }
  }
}
