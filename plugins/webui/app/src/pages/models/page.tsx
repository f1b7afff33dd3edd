import { pageOf } from "../page";

function ModelsPage() {
  return (
    <div class="content">
      <h1>Models</h1>
    </div>
  );
}

export default pageOf(ModelsPage);
