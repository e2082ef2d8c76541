"""A garden shop with a very small brain, as an agent for `pantrace run`."""

STOCK = {"potting soil": 12}


def answer(question, recorder):
    """Answer a question, and record how."""

    @recorder.tool
    def check_stock(product):
        return STOCK[product]

    asked = question.lower()
    if "stock" in asked:
        product = next((each for each in STOCK if each in asked), "fertilizer")
        recorder.says(f"{check_stock(product)} bags of {product} are in stock.")
    elif "open" in asked:
        recorder.says("We are closed on Sundays.")
    else:
        recorder.says("I cannot do that.")
