"""TIM: do the samples of a stream come when they should?"""
