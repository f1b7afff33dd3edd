// Before the first paint: the theme that was chosen, where one was.
const theme = localStorage.getItem("mlxp.theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
