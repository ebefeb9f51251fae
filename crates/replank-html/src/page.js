"use strict";
(() => {
  const status = document.getElementById("status");

  const select = (text) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      return true;
    } catch {
      select(text);
      return document.execCommand("copy");
    }
  };

  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const done = await copy(button.nextElementSibling);
      button.textContent = done ? "Copied" : "Selected";
      status.textContent = done ? "Copied." : "Selected: copy it with the keyboard.";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  // Rows by keyboard: one of each group can be reached with Tab, the others with the arrows.
  const beside = (row, step) => {
    const forward = step > 0;
    const near = forward ? row.nextElementSibling : row.previousElementSibling;
    if (near) return near;
    let part = row.closest(".rows");
    part = forward ? part.nextElementSibling : part.previousElementSibling;
    const list = part && part.matches(".rows") && part.querySelector("ol");
    return list ? (forward ? list.firstElementChild : list.lastElementChild) : null;
  };
  const ends = (row, last) => {
    const parts = row.closest(".group").querySelectorAll(".rows > ol");
    return last ? parts[parts.length - 1].lastElementChild : parts[0].firstElementChild;
  };
  for (const group of document.querySelectorAll(".group")) {
    const first = group.querySelector(".rows li");
    if (first) first.tabIndex = 0;
    group.addEventListener("keydown", (event) => {
      const row = event.target;
      if (!row.matches(".rows li")) return;
      if (event.key === "Escape") { row.blur(); return; }
      const to = event.key === "ArrowDown" ? beside(row, 1)
        : event.key === "ArrowUp" ? beside(row, -1)
        : event.key === "Home" ? ends(row, false)
        : event.key === "End" ? ends(row, true)
        : undefined;
      if (to === undefined) return;
      event.preventDefault();
      if (!to) return;
      row.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    });
  }
})();
